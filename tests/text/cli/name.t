# A name that C needs is refused, not changed.
$ loopwright compile @/examples/tc/mv.tc --size M=2,K=3 --emit c -o mv.c --name int
--- stderr
error: --name int: C, or the code around the function, has another use for it
--- exit 1
$ loopwright compile @/examples/tc/mv.tc --size M=2,K=3 --emit c -o mv.c --name mv_2x3 && grep -c mv_2x3 mv.h
6
