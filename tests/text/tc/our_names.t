Names that begin like those of the output's helpers are usable, and get a prefix in C.
--- n.tc
def lw_f(float(N) lw_x, float(N) LW_f_H) -> (O) { O(i) = lw_x(i) * LW_f_H(i) }
$ loopwright compile n.tc --size N=4 --emit c -o n.c && grep 'vlw_f(' n.h
void vlw_f(const float *restrict vlw_x, const float *restrict vLW_f_H, float *restrict O);
