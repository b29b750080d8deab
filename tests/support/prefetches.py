"""Places of prefetches in IR."""

CALL = "call void @llvm.prefetch.p0(ptr"


def logging(text, loaded, log):
    """A text that stores places of prefetches and of a load, ``%place``, one after the other.

    Args:
        loaded: the name of the load's result.
        log: the parameter whose memory has the next address of the log; it must have no other use of its first bytes.
    """
    lines = []
    for line in text.split("\n"):
        found = line.strip().split()[3].rstrip(",") if CALL in line else "%place" if f" {loaded} = " in line else None
        if found:
            name = found[1:]
            lines += [
                f"  %{name}.log = load ptr, ptr {log}, align 8",
                f"  store ptr {found}, ptr %{name}.log, align 8",
                f"  %{name}.next = getelementptr i8, ptr %{name}.log, i64 8",
                f"  store ptr %{name}.next, ptr {log}, align 8",
            ]
        lines += [] if CALL in line else [line]
    return "\n".join(lines)
