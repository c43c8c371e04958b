"""`storagekit plan schemes` as a planner sees it: the table, JSON, pictures, exit status, one line per error."""

import json
from pathlib import Path

import pytest

from storagekit.cli.plan_schemes import size_mix

DRIVE = "rpm=7200,seek=1/8.5/18ms,rate=250MB/s,size=18TB"
ARGUMENTS = [
    "plan",
    "schemes",
    "--drive",
    DRIVE,
    "--disks",
    "12",
    "--data-tb",
    "60",
    "--size-kb",
    "64",
    "--read-share",
    "0.7",
]


def test_twelve_drives_of_18_tb(storagekit):
    status, text, _ = storagekit(*ARGUMENTS, "--rate", "500", "--tolerate", "1", "--price", "300")
    assert status == 0
    assert "recommended: RAID 10 (12 disks)" in text and "108 TB usable, tolerates 1" in text
    assert "60 TB of data, the capacity of 3.33 of the 12 drives" in text and "RAID 6, 10+2" in text


def test_a_program_can_read_the_ranking_and_pictures_are_drawn(storagekit, tmp_path):
    folder = tmp_path / "drawn"
    status, text, _ = storagekit(
        *ARGUMENTS, "--outstanding", "48", "--objective", "capacity", "--json", "--charts", str(folder)
    )
    found = json.loads(text)
    assert status == 0 and found["objective"] == "capacity"
    assert found["ranking"][0]["usable"] == max(one["usable"] for one in found["ranking"])
    assert found["ranking"][0]["p99"] is None and found["check"] is None
    assert {path.suffix for path in folder.iterdir()} == {".png", ".svg"}


def test_an_infeasible_plan_is_reported_with_status_1(storagekit):
    status, text, _ = storagekit(*ARGUMENTS, "--rate", "50000")
    assert status == 1 and "overloaded" in text and "disks, which would be 80% busy" in text


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (
            ["--rate", "500", "--objective", "speed"],
            "objective 'speed': give one of throughput, mean, p95, p99, cost, capacity",
        ),
        (
            ["--rate", "500", "--size-kb", "much"],
            "--size-kb 'much': give a size in KB such as 64, or sizes with fractions",
        ),
        (["--rate", "500", "--size-kb", "4:1,8"], "--size-kb '4:1,8'"),
        (["--rate", "500", "--scheduler", "SATF"], "scheduler 'SATF': give one of"),
        (["--rate", "500", "--drive", "rpm=7200"], "drive: seek is missing"),
        ([], "load: give rate"),
    ],
)
def test_bad_input_is_one_line_with_status_2(storagekit, more, says):
    status, text, error = storagekit(*ARGUMENTS, *more)
    assert status == 2 and not text
    assert says in error and len(error.strip().splitlines()) == 1 and "Traceback" not in error


def test_sizes_are_read_with_their_shares():
    assert size_mix("64") == 65536.0
    assert size_mix("4:0.8,1024:0.2") == {4096.0: 0.8, 1048576.0: 0.2}


def test_a_code_by_its_numbers(storagekit):
    question = ("--disks", "24", "--data-tb", "0.02", "--rate", "100", "--tolerate", "3")
    status, text, _ = storagekit("plan", "schemes", *question, "--code", "8+3")
    assert status == 0 and "code, 2 x 8+3, 2 spares" in text
    for wrong in ("8", "8+x", "8+0"):
        status, _, error = storagekit("plan", "schemes", *question, "--code", wrong)
        assert status == 2 and len(error.splitlines()) == 1


def test_the_annual_failure_rate_adds_the_probability_of_data_loss(storagekit):
    arguments = [
        *ARGUMENTS,
        "--rate",
        "300",
        "--tolerate",
        "1",
        "--afr",
        "1.4",
        "--bit-error-rate",
        "1e-15",
        "--detection-hours",
        "2",
    ]
    status, text, _ = storagekit(*arguments)
    assert status == 0 and "most durable: code, 2 x 3+3: data loss in 1 year with probability" in text
    assert "Failures are detected after a mean of 2 h" in text
    _, text, _ = storagekit(*arguments, "--json")
    assert 0 < json.loads(text)["durability"]["ranking"][0]["loss_probability"] < 1e-3
    status, _, refused = storagekit(*ARGUMENTS, "--rate", "300", "--detection-hours", "2")
    assert status == 2 and "without --afr: give the annual failure rate of a disk too" in refused


def test_nodes_and_racks_that_fail(storagekit):
    arguments = [*ARGUMENTS, "--rate", "300", "--tolerate", "1", "--afr", "1.4", "--nodes", "4:1250"]
    _, text, _ = storagekit(*arguments, "--node-afr", "1", "--json")
    found = {one["scheme"]: one for one in json.loads(text)["durability"]["ranking"]}
    assert found["RAID 6, 10+2"]["loss_probability"] == pytest.approx(1 - 0.99**4, rel=0.01)
    _, text, _ = storagekit(*arguments, "--racks", "2:4000", "--rack-afr", "2")
    assert "A failure of a rack destroys all disks in it." in text
    for wrong in (["--nodes", "4:1250", "--node-afr", "1"], ["--afr", "1", "--nodes", "4:1250", "--rack-afr", "1"]):
        status, _, refused = storagekit(*ARGUMENTS, "--rate", "300", *wrong)
        assert status == 2 and "-afr without --afr or --" in refused
    status, _, refused = storagekit(*arguments, "--node-afr", "1", "--price", "300", "--buy-next")
    assert status == 2 and "--node-afr with --buy-next" in refused


def test_a_declustered_code_is_given_by_its_numbers(storagekit):
    status, text, _ = storagekit(*ARGUMENTS, "--rate", "300", "--tolerate", "2", "--declustered", "8+2")
    assert status == 0 and "declustered code, 8+2, 2 spares distributed" in text
    status, _, refused = storagekit(*ARGUMENTS, "--rate", "300", "--declustered", "8-2")
    assert status == 2 and "--declustered '8-2': give the numbers of data and of parity disks" in refused


def test_response_times_after_a_failure_follow_the_ranking(storagekit):
    arguments = [*ARGUMENTS, "--rate", "300", "--tolerate", "1"]
    status, text, _ = storagekit(*arguments, "--after-failure")
    assert status == 0 and "while a disk is lost: RAID 10 has the shortest mean" in text and "hours" not in text
    status, text, _ = storagekit(*arguments, "--rebuild-mb-s", "15", "--afr", "1.4")
    assert (
        status == 0 and "while it is rebuilt at 15 MB/s: RAID 10 has" in text and "A rebuild restores 15 MB/s" in text
    )
    _, text, _ = storagekit(*arguments, "--rebuild-mb-s", "15", "--json")
    found = json.loads(text)
    assert found["after_failure"]["rebuild_rate"] == 15e6 and found["durability"] is None is found["growth"]
    status, _, refused = storagekit(*ARGUMENTS, "--outstanding", "24", "--rebuild-mb-s", "15")
    assert status == 2 and "--rebuild-mb-s with --outstanding: " in refused


def test_growth_follows_the_ranking(storagekit):
    arguments = [*ARGUMENTS, "--rate", "300", "--tolerate", "1", "--growth-data", "25"]
    status, text, _ = storagekit(*arguments)
    assert status == 0 and "with 25% more data and 0% more requests each year; then: capacity of" in text
    _, text, _ = storagekit(*arguments, "--growth-load", "20", "--json")
    assert json.loads(text)["growth"]["load"] == 0.2
    status, _, refused = storagekit(*ARGUMENTS, "--rate", "300", "--growth-load", "-5")
    assert status == 2 and "load -0.05" in refused


def test_the_next_purchase_follows_the_ranking(storagekit):
    arguments = [*ARGUMENTS, "--rate", "400", "--tolerate", "1", "--price", "300", "--buy-next"]
    arguments += [
        "--instead",
        "wd_hc570:350",
        "--cache",
        "50%:2000",
        "--cache",
        "2TB:700",
        "--afr",
        "1.4",
        "--spare-days",
        "7",
    ]
    status, text, _ = storagekit(*arguments)
    assert status == 0 and "best next purchase: 2 more disks for 600 (RAID 10): mean" in text
    assert "12 x wd_hc570" in text and "cache, 50% of reads" in text and "cache of 2 TB" in text
    assert "1 more disk for 300 (RAID 10, 1 spare): loss probability" in text and "after a mean of 7 days" in text
    _, text, _ = storagekit(*arguments, "--json")
    found = json.loads(text)["next_purchase"]
    costs = {one["change"]: one["cost"] for one in found["ranking"]}
    assert found["purchase"] == "2 more disks" and costs["12 x wd_hc570"] == 12 * 350 and costs["cache of 2 TB"] == 700


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--buy-next"], "price: none; give the price of a disk, above 0: price=300, or --price 300"),
        (["--instead", "wd_hc570"], "--instead 'wd_hc570': give the price after a colon, such as cheetah15k3:400"),
        (["--instead", "wd_hc570:3", "--instead", "wd_hc570:4"], "the same drive twice"),
        (["--cache", "50:300"], "--cache '50:300': give the share of the reads or the size, and a price: 50%:2000"),
        (["--cache", "50%"], "--cache '50%': give the price after a colon"),
        (["--price", "3", "--cache", "120%:300"], "hits 1.2: it must be between 0 and 1"),
        (
            ["--price", "3", "--spare-days", "7"],
            "--spare-days without --afr: give the annual failure rate of a disk too",
        ),
    ],
)
def test_a_purchase_that_cannot_be_judged_is_one_line(storagekit, more, says):
    status, text, error = storagekit(*ARGUMENTS, "--rate", "300", *more)
    assert status == 2 and not text
    assert says in error and len(error.strip().splitlines()) == 1


def test_tenants_and_streams_have_their_own_options(storagekit):
    images = "images:30:1000=0.75,500=0.25:mean<40"
    arguments = [*ARGUMENTS[:8], "--tolerate", "1", "--tenant", "web:300:8:80%:p99<80", "--tenant", images]
    status, text, _ = storagekit(*arguments, "--stream", "backup:200", "--stream", "ingest:5:write", "--json")
    question = json.loads(text)["question"]
    assert status == 0 and question["rate"] == pytest.approx(330)
    web, images = question["tenants"]
    assert (web["name"], web["rate"], web["sizes"], web["read_share"]) == ("web", 300, [[8192, 1.0]], 0.8)
    assert images["sizes"] == [[512_000, 0.25], [1_024_000, 0.75]]
    assert web["p99"] == pytest.approx(0.08) and images["mean"] == pytest.approx(0.04) and web["mean"] is None
    assert [(one["rate"], one["writes"]) for one in question["streams"]] == [(200e6, False), (5e6, True)]
    _, text, _ = storagekit(*arguments)
    assert "330 requests/s of 2 tenants" in text and "  web " in text.split("tenants of ")[1]


def test_a_trace_has_reads_and_writes_as_tenants(storagekit):
    trace = Path(__file__).parents[2] / "data/samples/cloud.csv"
    status, text, _ = storagekit(*ARGUMENTS[:8], "--trace", str(trace), "--rate", "400", "--json")
    tenants = json.loads(text)["question"]["tenants"]
    assert status == 0 and [(one["name"], one["read_share"]) for one in tenants] == [("reads", 1.0), ("writes", 0.0)]
    assert sum(one["rate"] for one in tenants) == pytest.approx(400)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--tenant", "web"], "--tenant 'web': give name, requests/s and KB"),
        (["--tenant", "web:300:8:p50<3"], "--tenant 'web:300:8:p50<3'"),
        (["--tenant", "web:300:8:70%:80%"], "--tenant 'web:300:8:70%:80%'"),
        (["--tenant", "web:300:8=0.5,8=0.5"], "--tenant '8=0.5,8=0.5': the same size twice"),
        (["--tenant", "web:300:8=0.5,16"], "--tenant '8=0.5,16': give a size in KB such as 64, or"),
        (["--rate", "5", "--size-kb", "4:0.5,4:0.5"], "--size-kb '4:0.5,4:0.5': the same size twice"),
        (["--tenant", "web:300:8:150%"], "1.5"),
        (["--tenant", "web:300:8", "--rate", "5"], "rate with tenants"),
        (["--stream", "backup", "--rate", "5"], "--stream 'backup': give name and MB/s"),
        (["--stream", "backup:9:erase", "--rate", "5"], "--stream 'backup:9:erase'"),
        (["--trace", "missing.csv"], "missing.csv"),
        (["--trace", "missing.csv", "--tenant", "web:300:8"], "--tenant with --trace"),
        (["--trace", "missing.csv", "--size-kb", "4"], "--size-kb with --trace"),
        (["--stream", "backup:-2", "--rate", "5"], "-2"),
        (["--tenant", ":300:8"], "length of name"),
        (["--rate", "5", "--nodes", "4"], "--nodes '4': give a number and MB/s, such as 4:1250"),
        (["--rate", "5", "--nodes", "4:1", "--racks", "x:1"], "--racks 'x:1'"),
        (["--rate", "5", "--racks", "2:1"], "--racks without --nodes"),
    ],
)
def test_a_tenant_or_stream_that_cannot_be_read_is_one_line(storagekit, more, says):
    status, text, error = storagekit(*ARGUMENTS[:8], *more)
    assert status == 2 and not text and says in error and len(error.strip().splitlines()) == 1


def test_a_network_has_its_own_options(storagekit):
    arguments = [*ARGUMENTS[:8], "--rate", "300", "--nodes", "4:1250", "--json"]
    status, text, _ = storagekit(*arguments, "--racks", "2:5000")
    network = json.loads(text)["question"]["network"]
    assert status == 0 and network == {"nodes": 4, "node_rate": 1.25e9, "racks": 2, "rack_rate": 5e9}
    _, text, _ = storagekit(*arguments)
    assert json.loads(text)["question"]["network"]["rack_rate"] is None


def test_full_stripes_can_be_left_out(storagekit):
    arguments = [*ARGUMENTS[:8], "--size-kb", "2048", "--rate", "60", "--json"]
    with_them, without = (
        {one["scheme"] for one in json.loads(storagekit(*arguments, *more)[1])["ranking"]}
        for more in ([], ["--no-full-stripes"])
    )
    assert without == {name for name in with_them if "full stripes" not in name} < with_them


NVME = "iops=1000000/180000,latency=80/20us,rate=6.8/4GB/s,size=3.84TB,endurance=7PB"


def test_ssds_are_planned_as_drives_and_as_a_cache(storagekit):
    arguments = [
        "plan",
        "schemes",
        "--drive",
        NVME,
        "--disks",
        "8",
        "--data-tb",
        "12",
        "--rate",
        "300000",
        "--read-share",
        "0.7",
    ]
    status, text, _ = storagekit(*arguments, "--tolerate", "1")
    assert status == 0 and "SSDs worn out after 2.4 years" in text and "mean 0.086 ms" in text
    cache = ["--ssd-cache", f"{NVME}:2:80%:write-back", "--read-share", "0.7", "--json"]
    arguments[3], arguments[9] = "wd_hc570", "300"
    status, text, _ = storagekit(*arguments[:10], *cache)
    assert status == 0
    expected = {"ssd": "given as text", "drives": 2, "hits": 0.8, "write_back": True}
    assert json.loads(text)["question"]["cache"] == expected


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--drive", NVME, "--rate", "1000", "--check", "1"], "--check with an SSD: only disks can be simulated"),
        (["--drive", NVME, "--rate", "1000", "--copies"], "Leave --copies out"),
        (["--drive", NVME, "--outstanding", "8"], "--outstanding with an SSD: there is no formula; give --rate"),
        (["--rate", "100", "--ssd-cache", "x"], "--ssd-cache 'x': give an SSD, a number of drives, and the hits"),
        (["--rate", "100", "--ssd-cache", f"{NVME}:2:80"], "--ssd-cache"),
        (["--drive", "size=1TB,iops=1/2", "--rate", "100"], "SSD: 'latency' is missing"),
        (
            ["--drive", NVME.replace("iops=1000000", "iops=10"), "--rate", "1"],
            "at least 12500, the rate of one outstanding",
        ),
    ],
)
def test_questions_about_ssds_that_are_rejected(storagekit, given, message):
    status, _, text = storagekit("plan", "schemes", "--disks", "8", "--data-tb", "1", *given)
    assert status and message in text
