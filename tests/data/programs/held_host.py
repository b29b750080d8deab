"""Has the library act, or Python: ``python held_host.py LIBRARY WORD...``."""

import atexit
import ctypes
import os
import sys
import threading
import time
from _ctypes import dlclose

library = ctypes.CDLL(sys.argv[1])


def in_child():
    child = os.fork()
    if not child:
        sys.exit(5)
    print("child", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def in_thread(work):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def waiting():
    threading.Thread(target=library.act, args=(b"joined",), daemon=True).start()
    time.sleep(0.1)


OWN = {
    "python-fork": in_child, "python-_exit": lambda: os._exit(7), "thread-exit": lambda: in_thread(lambda: sys.exit(3)),
    "python-wait": waiting, "python-atexit": lambda: atexit.register(library.act, b"run"),
    "close": lambda: dlclose(library._handle),
}  # fmt: skip

for word in sys.argv[2:]:
    if word in OWN:
        OWN[word]()
    else:
        library.act(word.encode())
sys.exit(7)
