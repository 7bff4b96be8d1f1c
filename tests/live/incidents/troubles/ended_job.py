"""A job has read everything and ends, and records come for its next run."""

from tests.live.incidents.stage import Incident, Stage, leave


def inject(stage: Stage) -> None:
    """Let the job leave its group while the command looks."""
    partitions = stage.random.choice([1, 4])
    stage.make_topic(partitions)
    stage.produce(dict.fromkeys(range(partitions), stage.random.choice([2, 20])))
    job = stage.start_application(client_id="job", protocol=stage.random.choice(["classic", "consumer"]))
    stage.await_commits(partitions)
    stage.later(stage.random.choice([7.0, 12.0]), lambda: leave(job))


INCIDENT = Incident("recently_empty", inject)
