#!/usr/bin/env python3
"""Prints what a ginkgo JSON report holds: one line per spec, failures first with their reason, then the counts."""
import json
import re
import sys

ORDER = {"passed": 3, "skipped": 2, "pending": 2, "interrupted": 1, "aborted": 1}
NOT_RUN = ("skipped", "pending")


def reason(spec):
    failure = spec.get("Failure") or {}
    if spec["State"] == "passed" or not failure:
        return ""
    place = failure.get("Location") or {}
    file = place.get("FileName", "").split("/")[-1]
    message = re.sub(r"\s+", " ", failure.get("Message", ""))
    return f"{file}:{place.get('LineNumber')} {message[:160]}"


def row(spec):
    name = " / ".join((spec.get("ContainerHierarchyTexts") or []) + [spec["LeafNodeText"] or spec["LeafNodeType"]])
    return spec["State"], spec["RunTime"] / 1e9, name, reason(spec)


def main(path):
    try:
        with open(path) as file:
            suites = json.load(file)
    except FileNotFoundError:
        sys.exit(f"report: {path} was not written; the suite did not start")
    # set-up and tear-down count only where they went wrong
    rows = [row(spec) for suite in suites for spec in suite.get("SpecReports") or []
            if spec["LeafNodeType"] == "It" or spec["State"] not in ("passed", "skipped")]
    rows.sort(key=lambda r: (ORDER.get(r[0], 0), r[2]))
    for state, seconds, name, why in rows:
        if state != "skipped":
            print(f"{state.upper():9} {seconds:7.1f}s  {name}" + (f"\n{'':19}{why}" if why else ""))
    states = [r[0] for r in rows]
    passed, not_run = states.count("passed"), sum(states.count(s) for s in NOT_RUN)
    print(f"\n{passed} passed, {len(rows) - passed - not_run} failed, {not_run} skipped")


if __name__ == "__main__":
    main(sys.argv[1])
