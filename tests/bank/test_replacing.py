"""Corrections against what is known: what takes a statement's place, what stands beside it."""

from __future__ import annotations

import pytest

from vademecum.bank.compare.replacing import replaces


@pytest.mark.parametrize(
    ("old", "new", "denied", "place"),
    [
        ("The log level in production is INFO.", "the staging log level is DEBUG", "INFO", "beside"),
        ("Tests are run with make test.", "the tests in CI are run with tox", "make test", "beside"),
        ("Redis runs on port 6379 on cache-01.", "the sandbox Redis runs on port 7000", "6379", "beside"),
        ("The main repository is hosted on GitLab.", "the docs repository is on GitHub", "GitLab", "beside"),
        ("We use Kafka for events.", "the tutorial uses RabbitMQ", "Kafka", "beside"),
        ("The log level is INFO.", "the log level is DEBUG", "INFO", "takes"),
        ("We use npm for the frontend.", "we use pnpm", "npm", "takes"),
        ("The main repository is hosted on GitLab.", "the repository is on GitHub", "GitLab", "takes"),
        ("The CI runs on Jenkins.", "the CI runs on GitHub Actions", "Jenkins", "takes"),
        ("Das Log-Level in Produktion ist INFO.", "das Log-Level in Staging ist DEBUG", "INFO", "beside"),
    ],
)
def test_what_narrows_the_new_statement_alone_leaves_the_old_one_standing(
    old: str, new: str, denied: str, place: str
) -> None:
    assert replaces(old, new, (denied,)) == place


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("The session timeout is 30 minutes.", "the session timeout is 15 minutes.", "takes"),
        ("The staging server is at staging.acme.test.", "the staging server is staging2.acme.test.", "takes"),
        ("Redis runs on port 6379.", "Redis runs on port 6380.", "takes"),
        ("Redis runs on port 6379 on cache-01.", "Redis runs on port 6380.", "beside"),
        ("Backups run every night at 02:00.", "backups run at 03:00.", "beside"),
        ("Ana leads the security audit.", "Dana leads the security audit.", "beside"),
        ("The coverage threshold is 80 percent.", "in the docs the coverage threshold is 50 percent.", "beside"),
        ("Bob prefers phone calls.", "Alice prefers phone calls.", "beside"),
        ("The session timeout is 30 minutes.", "the worker timeout is 10 minutes.", ""),
        ("The log level in production is INFO.", "the log level in staging is DEBUG.", ""),
        ("Bob is on call this quarter.", "Bob is on call in December.", ""),
        ("The London office has 12 desks.", "the Berlin office has 40 desks.", ""),
        ("Ana leads the security audit.", "Eve leads the marketing team.", ""),
    ],
)
def test_another_value_takes_the_place_only_of_the_same_said_of_the_same(old: str, new: str, place: str) -> None:
    assert replaces(old, new) == place
