Names of helpers of the output and of macros of C are usable, and are changed in C.
--- n.tc
def lw_f(float(N) lw_x, float(N) LW_f_H) -> (O) { O(i) = lw_x(i) * LW_f_H(i) }
--- m.tc
def f(float(N) M_PI, float(N) EOF) -> (INT_MAX) { INT_MAX(i) +=! exp(M_PI(j)) * EOF(i) }
$ loopwright compile n.tc --size N=4 --emit c -o n.c && grep 'vlw_f(' n.h
void vlw_f(const float *restrict vlw_x, const float *restrict vLW_f_H, float *restrict O);
$ loopwright compile m.tc --size N=4 --emit c -o m.c && grep 'M_PI' m.h
// f: M_PI_ f32[4], EOF_ f32[4], INT_MAX_ f32[4]
void f(const float *restrict M_PI_, const float *restrict EOF_, float *restrict INT_MAX_);
