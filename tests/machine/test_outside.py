"""Memory that is used too late, from elsewhere or in an impossible way is a fault, and never works."""

import pickle
import threading

import pytest

import mlusim
from mlusim.bang import float32, int8, kernel
from mlusim.errors import Ended, Outside, UsageError


@pytest.fixture
def device():
    """A board."""
    return mlusim.Device("MLU370-X4")


USES = {
    "barrier": lambda mlu: mlu.sync_all(),
    "declaration": lambda mlu: mlu.nram(float32, 8),
    "shared declaration": lambda mlu: mlu.shared(float32, 8),
}


@pytest.mark.parametrize("use", USES)
def test_an_mlu_ends_with_its_task(device, use):
    """Code that keeps it gets an error, instead of memory or a barrier of nothing."""
    kept = []

    @kernel
    def keep(mlu):
        kept.append(mlu)

    device.launch(keep, dim=(4, 1, 1), kind=mlusim.UNION1)

    with pytest.raises(Outside, match="the mlu of memory core of cluster 0 is used outside its own task"):
        USES[use](kept[0])


@pytest.mark.parametrize("use", USES)
def test_a_thread_of_a_kernel_has_no_mlu(device, use):
    """The launch ends with the fault, though the thread keeps it to itself."""

    @kernel
    def threaded(mlu):
        def run():
            with pytest.raises(Outside):
                USES[use](mlu)

        thread = threading.Thread(target=run)
        thread.start()
        thread.join()

    with pytest.raises(Outside, match="used outside its own task"):
        device.launch(threaded, dim=(4, 1, 1), kind=mlusim.UNION1)


def test_a_pointer_behind_its_launch_is_not_cast(device):
    """It says what has ended, and where it was declared."""
    kept = []
    device.launch(kernel(lambda mlu: kept.append(mlu.nram(float32, 8))))

    with pytest.raises(Ended, match=r"NRAM float\[8\] declared at .* ended with its task or launch"):
        kept[0].cast(int8)


def test_a_shape_that_the_host_lacks_is_refused(device):
    """65 sizes are one too many for an array."""
    assert (1,) * 64 == device.get(device.empty((1,) * 64, float32)).shape
    with pytest.raises(UsageError, match="a shape of 65 sizes is longer than NumPy allows; give 64 or fewer"):
        device.empty((1,) * 65, float32)


async def later(mlu):
    """Do nothing now."""


class Later:
    """A callable whose call does nothing now."""

    async def __call__(self, mlu):
        """Do nothing now."""


@pytest.mark.parametrize(
    "body",
    [Later(), lambda mlu, *_: later(mlu), lambda mlu: (n for n in ())],
    ids=["call", "coroutine", "generator"],
)
def test_a_body_that_would_run_later_is_refused(device, body):
    """What it returns has not run: no success."""
    with pytest.raises(UsageError, match="returns a generator or a coroutine, whose body has not run"):
        device.launch(kernel(body))


@kernel
def known(mlu):
    """Do nothing."""


def test_a_kernel_is_pickled_by_its_name():
    """Another process finds it in its module; one inside a function has no name there."""
    assert known is pickle.loads(pickle.dumps(known))

    @kernel
    def inner(mlu):
        """Do nothing."""

    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(inner)
