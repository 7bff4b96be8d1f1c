// Draws each group's chart when it comes near the window. Names from a cluster never reach this code, only numbers do.
(() => {
  "use strict";

  const SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE, DAY = 24 * HOUR;
  const UNITS = [["d", DAY], ["h", HOUR], ["m", MINUTE], ["s", SECOND]];
  const STEPS = [1, 2, 5, 10, 15, 30].flatMap((n) => [n * SECOND, n * MINUTE])
    .concat([1, 2, 3, 6, 12].map((n) => n * HOUR), [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000].map((n) => n * DAY))
    .sort((a, b) => a - b);
  const CONFIG = { responsive: true, displayModeBar: false, displaylogo: false, plotlyServerURL: "", showTips: false };
  const isFinger = matchMedia("(pointer: coarse)").matches;

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

  function duration(ms) {
    if (ms < SECOND) return ms ? `${Math.round(ms)}ms` : "0s";
    const at = UNITS.findIndex(([, size]) => ms >= size);
    const texts = [];
    let rest = ms;
    for (const [name, size] of UNITS.slice(at, at + 2)) {
      const count = Math.floor(rest / size);
      rest -= count * size;
      if (count) texts.push(`${count}${name}`);
    }
    return texts.join("");
  }

  const highest = (values, least) => values.reduce((top, value) => Math.max(top, value ?? least), least);
  const lowest = (values) => values.reduce((bottom, value) => Math.min(bottom, value ?? 0), 0);

  // A value without neighbours makes no line, so it gets a dot.
  const alone = (values) => values.map((value, at) =>
    value !== null && (values[at - 1] ?? null) === null && (values[at + 1] ?? null) === null ? value : null);

  function series(name, axis, x, y, line, more) {
    const shared = { type: "scatter", x, y, xaxis: "x", yaxis: axis, name, connectgaps: false };
    const traces = [{ ...shared, mode: "lines", line: { width: 1.75, ...line }, ...more }];
    const dots = alone(y);
    if (dots.some((value) => value !== null)) {
      traces.push({ ...shared, y: dots, mode: "markers", marker: { color: line.color, size: 6 }, hoverinfo: "skip" });
    }
    return traces;
  }

  // Filled stretch by stretch: a fill of the line itself would bridge what is not known.
  function area(axis, x, y, fillcolor) {
    const outline = { x: [], y: [] };
    const add = (at, value) => { outline.x.push(at); outline.y.push(value); };
    y.forEach((value, at) => {
      if (value === null) return;
      if ((y[at - 1] ?? null) === null) add(x[at], 0);
      add(x[at], value);
      if ((y[at + 1] ?? null) === null) { add(x[at], 0); add(null, null); }
    });
    return { type: "scatter", xaxis: "x", yaxis: axis, ...outline, mode: "none", fill: "toself", fillcolor, hoverinfo: "skip" };
  }

  // One outline for all bands: ten thousand rebalances are two elements and their handles.
  function rebalances(told) {
    const x = [], y = [];
    for (const [start, end] of told.marks) {
      x.push(start, start, end, end, start, null);
      y.push(0, 1, 1, 0, 0, null);
    }
    const mark = colour("mark");
    const shared = { type: "scatter", xaxis: "x", yaxis: "y" };
    // A storm of them must not hide the lag.
    const opacity = Math.max(0.06, Math.min(1, 40 / told.marks.length));
    return [
      { ...shared, x, y, opacity, mode: "lines", fill: "toself", fillcolor: colour("mark-area"), line: { color: mark, width: 1 }, hoverinfo: "skip" },
      {
        ...shared, x: told.marks.map(([start]) => start), y: told.marks.map(() => 1), text: told.marks.map((mark) => mark[2]),
        mode: "markers", marker: { color: mark, size: 10, symbol: "triangle-down" }, cliponaxis: false,
        name: "Rebalance", hovertemplate: "%{text}<extra></extra>",
      },
    ];
  }

  function traces(told) {
    const lag = { color: colour("lag") }, timeLag = { color: colour("time-lag"), dash: "dot" };
    return [
      area("y2", told.at, told.lag, colour("lag-area")),
      ...series("Lag", "y2", told.at, told.lag, lag, { hovertemplate: "Lag %{y:,}<extra></extra>" }),
      ...(told.timeLag ? series("Time lag", "y3", told.at, told.timeLag, timeLag, {
        customdata: told.timeLag.map((ms) => (ms === null ? null : duration(ms))), hovertemplate: "Time lag %{customdata}<extra></extra>",
      }) : []),
      ...(told.marks.length ? rebalances(told) : []),
    ];
  }

  function durationAxis(values) {
    const top = highest(values, SECOND) * 1.1;
    const step = STEPS.find((size) => top / size <= 3.5) ?? top / 3;
    const tickvals = Array.from({ length: Math.floor(top / step) + 1 }, (_, at) => at * step);
    return { range: [-top / 12, top], tickvals, ticktext: tickvals.map(duration) };
  }

  function lagAxis(values) {
    const top = highest(values, 1), bottom = lowest(values);
    return {
      range: [bottom * 1.1 - (top - bottom) / 25, top * 1.1], nticks: 5, tickformat: top < 1000 ? ",d" : "~s",
      ...(top - bottom <= 4 ? { dtick: 1 } : {}),
    };
  }

  const caption = (text, y, name) => ({
    text, x: 0, xref: "paper", xanchor: "left", y, yref: "paper", yanchor: "bottom", showarrow: false,
    font: { size: 12, color: colour(name) },
  });

  function layout(told) {
    const faint = colour("faint"), grid = colour("rule");
    const axis = { fixedrange: true, gridcolor: grid, zerolinecolor: grid, color: faint, automargin: true, anchor: "x" };
    return {
      margin: { l: 48, r: 12, t: 24, b: 36 }, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: "system-ui, sans-serif", size: 12, color: colour("ink") }, showlegend: false, separators: ".,",
      hovermode: "x unified", hoversubplots: "axis", hoverdistance: 12, dragmode: isFinger ? false : "zoom",
      hoverlabel: { bgcolor: colour("paper"), bordercolor: faint, font: { size: 13, color: colour("ink") } },
      xaxis: {
        type: "date", showgrid: false, range: told.period, anchor: told.timeLag ? "y3" : "y2", color: faint, fixedrange: isFinger, ticks: "outside", ticklen: 4, tickcolor: grid,
        hoverformat: "%-d %b %Y, %H:%M:%S UTC", showspikes: true, spikecolor: faint, spikethickness: 1, spikedash: "solid", spikemode: "across",
        tickformatstops: [
          { dtickrange: [null, SECOND], value: "%H:%M:%S.%L" }, { dtickrange: [SECOND, MINUTE], value: "%H:%M:%S\n%-d %b" },
          { dtickrange: [MINUTE, DAY], value: "%H:%M\n%-d %b" }, { dtickrange: [DAY, null], value: "%-d %b\n%Y" },
        ],
      },
      // The first axis is drawn first: the lag lies on the rebalances.
      yaxis: { domain: [0, 1], range: [0, 1], visible: false, fixedrange: true, anchor: "x" },
      yaxis2: { ...axis, ...lagAxis(told.lag), domain: [told.timeLag ? 0.44 : 0, 1] },
      ...(told.timeLag ? { yaxis3: { ...axis, ...durationAxis(told.timeLag), domain: [0, 0.3] } } : {}),
      annotations: [caption("Lag", 1.01, "lag"), ...(told.timeLag ? [caption("Time lag", 0.31, "time-lag")] : [])],
    };
  }

  function draw(figure) {
    const plot = figure.querySelector(".plot");
    const data = figure.querySelector('script[type="application/json"]');
    if (!plot || !data) return;
    const told = JSON.parse(data.textContent);
    told.at = told.at.map((offset) => told.period[0] + offset);
    Plotly.react(plot, traces(told), layout(told), CONFIG).then(() => { figure.dataset.drawn = "true"; });
  }

  const figures = [...document.querySelectorAll("figure.group-chart")];
  const watcher = new IntersectionObserver((entries) => {
    for (const entry of entries.filter((seen) => seen.isIntersecting)) {
      watcher.unobserve(entry.target);
      draw(entry.target);
    }
  }, { rootMargin: "600px 0px" });
  figures.forEach((figure) => watcher.observe(figure));

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () =>
    figures.filter((figure) => figure.dataset.drawn).forEach(draw));
  addEventListener("beforeprint", () => figures.filter((figure) => !figure.dataset.drawn).forEach(draw));
})();
