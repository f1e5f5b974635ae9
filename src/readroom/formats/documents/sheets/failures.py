"""What python-calamine raises, in our words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import python_calamine

from readroom.formats.documents import Encrypted, Unreadable
from readroom.formats.documents.archives import ANOTHER_COPY


@contextmanager
def translated() -> Iterator[None]:
    """The library's failures as Unreadable; a panic of its compiled code is not an Exception."""
    try:
        yield
    except python_calamine.PasswordError:
        raise Encrypted("it is encrypted", "Ask for a copy without a password.") from None
    except (python_calamine.CalamineError, ValueError, OverflowError):
        raise Unreadable("its tables are damaged", ANOTHER_COPY) from None
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise Unreadable("its tables are damaged", ANOTHER_COPY) from None
