"""Long calls: Ctrl-C, progress, threads and processes."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import thalweg as tw

LONG = "p3.fig5"


def interrupted_after(call, after_s: float = 0.4) -> float:
    """How long `call` goes on after Ctrl-C, in seconds."""
    sent: list[float] = []

    def interrupt() -> None:
        time.sleep(after_s)
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        call()
    heard = time.monotonic()
    thread.join()
    return heard - sent[0]


def swept(folder: Path, **how: Any) -> None:
    tw.Sweep(LONG, over={"run.payload": [40, 80]}, seeds=range(1, 20)).run(folder, **how)


# A step of a simulation of a thousand nodes takes seconds.
@pytest.mark.parametrize(
    "call",
    [
        lambda folder: tw.run(LONG, seeds=range(1, 20), jobs=1),
        lambda folder: tw.reproduce("p3", quick=True, jobs=1),
        lambda folder: tw.collect("indriya", object=8_000_000),
        lambda folder: tw.survey("building1000"),
        lambda folder: tw.plan("building1000", protocol="p3"),
        lambda folder: swept(folder, jobs=1),
    ],
    ids=["run", "reproduce", "collect", "survey", "plan", "sweep"],
)
def test_ctrl_c_is_heard_within_half_a_second(call, hears_ctrl_c, tmp_path: Path):
    assert interrupted_after(lambda: call(tmp_path)) < 0.5 * slowness()


def test_ctrl_c_calls_off_parts_that_an_executor_has_not_begun(hears_ctrl_c, tmp_path: Path):
    sweep = tw.Sweep(tw.experiment("cit.fig3").with_({"cpu_s": 5.0}), seeds=range(1, 1001))
    with ThreadPoolExecutor(1) as pool:
        assert interrupted_after(lambda: sweep.run(tmp_path, executor=pool)) < 0.5 * slowness()
    assert 0 < len(sweep.missing(tmp_path)) < 1000


@pytest.fixture
def hears_ctrl_c():
    """A shell has its background jobs ignore Ctrl-C, and Python leaves it so."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def slowness() -> float:
    """How many processes want a core, at least 1: times of the clock are that much longer."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def test_progress_is_told_in_the_callers_thread_and_may_stop_it():
    told, threads = [], set()

    def progress(done: int, total: int, label: str) -> None:
        told.append((done, total, label))
        threads.add(threading.get_ident())

    tw.run("cit.fig3", seeds=range(1, 4), progress=progress)
    done, total, label = told[-1]
    assert done == total > 0 and label == "cit.fig3"
    assert threads == {threading.get_ident()}

    def refuse(done: int, total: int, label: str) -> None:
        raise LookupError("enough")

    begun = time.monotonic()
    with pytest.raises(LookupError, match="enough"):
        tw.run(LONG, seeds=range(1, 20), jobs=1, progress=refuse)
    assert time.monotonic() - begun < 5 * slowness()


def test_a_bar_is_shown_with_and_without_tqdm(capfd, monkeypatch):
    for without in (False, True):
        if without:
            monkeypatch.setitem(sys.modules, "tqdm", None)
            monkeypatch.setitem(sys.modules, "tqdm.auto", None)
        tw.run("cit.fig3", seeds=range(1, 3), progress=True)
        assert "cit.fig3" in capfd.readouterr().err


def test_other_threads_go_on_meanwhile():
    count, over = 0, threading.Event()

    def others() -> None:
        nonlocal count
        while not over.is_set():
            count += 1
            time.sleep(0.005)

    thread = threading.Thread(target=others)
    thread.start()
    tw.collect("indriya", seed=5)
    over.set()
    thread.join()
    assert count > 5


def goodput(seed: int) -> list[float]:
    return tw.run("cit.fig3", seeds=[seed], jobs=2).results["value"]


def test_threads_at_once_give_what_one_after_the_other_gives():
    alone = [goodput(seed) for seed in range(1, 5)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(goodput, range(1, 5))) == alone


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_processes_after_a_run_in_their_parent(method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {method} here")
    expected = [goodput(1), goodput(2)]
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map_async(goodput, [1, 2]).get(timeout=60) == expected


def test_import_is_quick():
    took = []
    for _ in range(5):
        # Processor time: others may want the core.
        code = "import time; begun = time.process_time(); import thalweg; print(time.process_time() - begun)"
        said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        took.append(1000 * float(said))
    assert min(took) < 150, took
