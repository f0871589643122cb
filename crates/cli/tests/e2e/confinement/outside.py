# A process beside the run, with secrets in all that a process has. It ends with its standard input.
import ctypes, os, sys

libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
os.chdir(sys.argv[1])
number = libc.shmget(0, 4096, 0o1600)
at = libc.shmat(number, None, 0)
ctypes.memmove(at, b"S3CRET\0", 7)
# It is gone with the last process that has it.
libc.shmctl(number, 0, None)
print(number, flush=True)
sys.stdin.read()
