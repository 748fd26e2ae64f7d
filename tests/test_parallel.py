"""Work shared by threads."""

import threading

import pytest

from noisyor.parallel import in_threads, one_by_one


@pytest.mark.parametrize("n_jobs", [1, 2, 5, None])
def test_results_keep_the_order_of_their_items(n_jobs):
    assert in_threads(lambda x: x * x, range(20), n_jobs) == [x * x for x in range(20)]
    assert in_threads(abs, [], n_jobs) == []


def test_no_more_threads_work_than_were_asked_for():
    gate = threading.Barrier(2, timeout=10)
    gate_of_three = threading.Barrier(3, timeout=0.2)
    in_threads(lambda _: gate.wait(), range(4), 2)
    with pytest.raises(threading.BrokenBarrierError):
        in_threads(lambda _: gate_of_three.wait(), range(3), 2)
    assert set(in_threads(lambda _: threading.current_thread(), range(3), 1)) == {
        threading.current_thread()
    }


def test_an_error_reaches_the_caller():
    with pytest.raises(ZeroDivisionError):
        in_threads(lambda x: 1 // x, [1, 0, 2], 2)


def test_few_results_are_kept_at_a_time():
    begun = []
    results = one_by_one(lambda x: begun.append(x) or x, range(100), 2)
    assert next(results) == 0
    assert len(begun) < 10
    assert list(results) == list(range(1, 100))
