"""delay.py MILLISECONDS NAMESPACE ADDRESS NAMESPACE ADDRESS: all that the two hosts send each other takes so much
longer each way, until this is ended. Prints a line once it does.

A tunnel device in each namespace takes the route to the other host; packets wait here. Their addresses stay as they
are, so firewalls see what they always see, and connections go on when the tunnel comes and goes. (tc's netem does the
same, where the kernel has it.)
"""

import ctypes
import fcntl
import heapq
import os
import select
import struct
import subprocess
import sys
import time

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
CLONE_NEWNET = 0x40000000
DEVICE = "slow"


def enter(namespace):
    if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")


def tunnel(namespace, own, other):
    """The device of one end."""
    with open("/proc/self/ns/net") as here, open(f"/run/netns/{namespace}") as there:
        enter(there)
        descriptor = open_device()
        enter(here)
    ip = ["ip", "-n", namespace]
    subprocess.run([*ip, "link", "set", DEVICE, "up"], check=True)
    subprocess.run([*ip, "route", "add", other, "dev", DEVICE, "src", own], check=True)
    return descriptor


def open_device():
    descriptor = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(descriptor, TUNSETIFF, struct.pack("16sH", DEVICE.encode(), IFF_TUN | IFF_NO_PI))
    return descriptor


def main():
    delay = int(sys.argv[1]) / 1000
    first, first_address, second, second_address = sys.argv[2:6]
    ends = [tunnel(first, first_address, second_address), tunnel(second, second_address, first_address)]
    other = {ends[0]: ends[1], ends[1]: ends[0]}
    waiting = []
    order = 0
    print("slow", flush=True)
    while True:
        pause = max(0, waiting[0][0] - time.monotonic()) if waiting else None
        for end in select.select(ends, [], [], pause)[0]:
            order += 1
            heapq.heappush(waiting, (time.monotonic() + delay, order, other[end], os.read(end, 65536)))
        while waiting and waiting[0][0] <= time.monotonic():
            _, _, end, packet = heapq.heappop(waiting)
            os.write(end, packet)


main()
