Generated C avoids what gcc 12 gets wrong (0 - x of a converted integer), and comparisons that compilers warn about.
--- f.tc
def f(byte(N) A) -> (O, P, Q) {
    O(i) = 1.0 / (0.0 - float(i / N)) where i in 0:N
    P(i) = 0 <= A(i) ? A(i) : 3
    Q(i) = int(A(i)) < 0 || 256 <= int(A(i)) ? 7 : int(A(i)) - int(A(i))
}
$ loopwright run f.tc --size N=3 --backend c --db none | grep -F [
           [inf, inf, inf]
           [2, 0, 3]
           [0, 0, 0]
$ loopwright compile f.tc --size N=3 --emit c -o f.c && cc -std=c99 -Wall -Wextra -Werror -ffp-contract=off -c f.c
