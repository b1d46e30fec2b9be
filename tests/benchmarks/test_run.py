"""The command: it runs without any other library, reports, and writes the figures into a document."""

import json
import sys

import numpy as np
import pytest

from benchmarks import report, run
from benchmarks.workloads import ALL, make


def test_the_command_without_other_libraries(tmp_path, monkeypatch, capsys):
    document, results = tmp_path / "performance.md", tmp_path / "results.json"
    document.write_text(f"before\n{report.BEGIN}\nstale\n{report.END}\nafter\n")
    monkeypatch.setattr(sys, "argv", [
        "run.py", "--only=d2s_eager,d2s_step,numpy", "--workloads=tiny", "--rounds=1", "--seconds=0.001",
        f"--json={results}", "--update", str(document)])
    run.main()
    rows = json.loads(results.read_text())["results"]["tiny"]
    assert list(rows) == ["d2s_eager", "d2s_step", "numpy"]
    assert all(row["gradient_error"] < 1e-6 and len(row["rounds"]) == 1 for row in rows.values())
    shown = capsys.readouterr().out
    assert "d2s_step" in shown
    assert "static or step / flat NumPy" in shown
    text = document.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "`python benchmarks/run.py --only=d2s_eager,d2s_step,numpy --workloads=tiny --rounds=1 --seconds=" in text
    assert str(tmp_path) not in text
    assert "| tiny |" in text
    assert "stale" not in text


def test_wrong_gradients_are_found(tmp_path):
    right, wrong = str(tmp_path / "right.npz"), str(tmp_path / "wrong.npz")
    np.savez(right, loss=1.0, w=np.array([1.0, 4.0]))
    np.savez(wrong, loss=1.0, w=np.array([1.0, 3.0]))
    assert report.gradient_error(right, right) == 0
    assert report.gradient_error(right, wrong) == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("seconds", "text"), [(2e-6, "2.00 us"), (1.25e-3, "1.25 ms"), (12.0, "12.0 s"), (0, "0.00 us")],
)
def test_durations(seconds, text):
    assert report.duration(seconds) == text


def test_cpu_time_needs_one_thread(capsys):
    with pytest.raises(SystemExit):
        run.parsed(["--cpu"])
    assert "--threads 1" in capsys.readouterr().err


@pytest.mark.parametrize("name", ALL)
def test_workloads_say_what_they_are(name):
    workload = make(name, small=True)
    assert workload.name == name
    assert workload.about
    assert all(array.dtype == "float32" for array in workload.params.values())


def test_growth_is_measured_and_shown() -> None:
    from benchmarks import growth

    rows = growth.measured(growth.mlp, (1, 2)) + growth.measured(growth.recurrent, (2,))
    assert [size for size, *_ in rows] == [1, 2, 2]
    assert all(value > 0 for row in rows for value in row)
    lines = growth.compile_times((1, 3)).splitlines()
    assert [int(line.split()[0]) for line in lines[1:]] == [1, 3]
    assert int(lines[2].split()[1]) > int(lines[1].split()[1]) > 10
    text = growth.table("layers", rows)
    assert "of proportional" in text
    assert len(text.splitlines()) == 4


def test_long_runs_in_short() -> None:
    from benchmarks import soak

    assert len(soak.train(20, check_every=5)) == 10
    for maker in (soak.made_function, soak.made_layer):
        assert len(soak.come_and_go(maker, 5)) == 5
    assert soak.threads(80) >= 1
    assert soak.one_trace(5) == 1


def test_imports_are_timed(tmp_path) -> None:
    from benchmarks import imports

    assert imports.milliseconds("d2s", str(tmp_path)) > imports.milliseconds("numpy", str(tmp_path)) > 0
