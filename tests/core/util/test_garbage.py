import gc

import pytest

from bertviewer.core.util.gc_paused import no_search_for_garbage


def test_the_search_is_off_meanwhile_and_on_again_whatever_happens() -> None:
    assert gc.isenabled()
    with no_search_for_garbage():
        assert not gc.isenabled()
        with no_search_for_garbage():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(ZeroDivisionError), no_search_for_garbage():
        _ = 1 // 0
    assert gc.isenabled()
