"""The tables of Kafka's tools as rows by column names."""

from __future__ import annotations

from tests.live.groups.kafka_tools import parse_rows

STATES = """
GROUP           COORDINATOR (ID)          STATE                     GROUP-EPOCH     #MEMBERS
wc              127.0.0.1:22497 (1)       Stable                    3               2

GROUP                     COORDINATOR (ID)          STATE                     GROUP-EPOCH     #MEMBERS
a-much-longer-name        127.0.0.1:22497 (1)       Empty                     12              0
"""
MEMBERS = """
GROUP           TOPOLOGY-EPOCH MEMBER                 ASSIGNMENTS
wc              0              Tz76AEWFTbetszP7aQ7LDg ACTIVE: 0:[0]; 1:[0]; STANDBY: 1:[1];
"""


def test_each_table_has_columns_of_its_own_width() -> None:
    assert parse_rows(STATES) == [
        {
            "GROUP": "wc",
            "COORDINATOR (ID)": "127.0.0.1:22497 (1)",
            "STATE": "Stable",
            "GROUP-EPOCH": "3",
            "#MEMBERS": "2",
        },
        {
            "GROUP": "a-much-longer-name",
            "COORDINATOR (ID)": "127.0.0.1:22497 (1)",
            "STATE": "Empty",
            "GROUP-EPOCH": "12",
            "#MEMBERS": "0",
        },
    ]


def test_the_last_column_may_have_blanks() -> None:
    (row,) = parse_rows(MEMBERS)
    assert row["ASSIGNMENTS"] == "ACTIVE: 0:[0]; 1:[0]; STANDBY: 1:[1];"
    assert (row["TOPOLOGY-EPOCH"], row["MEMBER"]) == ("0", "Tz76AEWFTbetszP7aQ7LDg")
