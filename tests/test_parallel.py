"""Work shared by threads."""

import os
import threading

import pytest

from noisyor.parallel import in_threads, meanwhile, one_by_one


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


def test_the_error_is_that_of_the_first_item_that_fails():
    """It does not depend on which of the threads is done first."""
    second_failed = threading.Event()

    def fail(number):
        if number == 1:
            second_failed.wait(10)
        else:
            second_failed.set()
        raise ValueError(number)

    with pytest.raises(ValueError, match="1"):
        in_threads(fail, [1, 2, 3, 4], 2)


def test_after_an_error_nothing_more_is_begun():
    begun = []

    def fail(number):
        begun.append(number)
        raise ValueError(number)

    with pytest.raises(ValueError, match="0"):
        in_threads(fail, range(100), 2)
    assert len(begun) <= 2


def test_work_that_asks_for_threads_gets_others():
    def square_all(n):
        return sum(in_threads(lambda x: x * x, range(n), 2))

    for _ in range(3):
        assert in_threads(square_all, range(6), 2) == [0, 0, 1, 5, 14, 30]


def test_threads_wait_for_more_work():
    def workers():
        return set(in_threads(lambda _: threading.current_thread(), range(50), 3))

    first = {thread for _ in range(5) for thread in workers()}
    assert len(first) <= 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own():
    in_threads(abs, range(10), 2)
    child = os.fork()
    if child == 0:
        os._exit(int(in_threads(abs, [-1, 2, -3], 2) != [1, 2, 3]))
    assert os.waitpid(child, 0)[1] == 0


def test_few_results_are_kept_at_a_time():
    begun = []
    results = one_by_one(lambda x: begun.append(x) or x, range(100), 2)
    assert next(results) == 0
    assert len(begun) < 10
    assert list(results) == list(range(1, 100))


def test_what_is_done_meanwhile_is_done_by_another_thread_or_at_once():
    may_go = threading.Event()

    def work():
        return may_go.wait(10), threading.current_thread()

    with meanwhile(work, n_jobs=2) as result:
        may_go.set()
        assert result()[0]
        assert result()[1] is not threading.current_thread()
    with meanwhile(work, n_jobs=1) as result:
        assert result() == (True, threading.current_thread())


def test_what_nobody_asks_for_is_waited_for():
    done = threading.Event()
    with meanwhile(lambda: done.wait(0.2) or done.set(), n_jobs=2):
        pass
    assert done.is_set()


def test_an_error_of_what_is_done_meanwhile_reaches_who_asks():
    with meanwhile(lambda: 1 // 0, n_jobs=2) as result, pytest.raises(ZeroDivisionError):
        result()
