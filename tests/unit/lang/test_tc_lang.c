// The comprehension language, one idea per test: text, sizes, data, results.
#include "unit/tc_run.h"

// --- Lexing --------------------------------------------------------------------------------------
RUNS(comments_and_line_ends, "# a\ndef f(float(N) A)\n->(O)#b\n{O(i)\n=#c\nA(i)}# d", "N=2",
     "A=1 2", "O=1 2")
RUNS(crlf_and_tabs, "def f(float(N) A) -> (O) {\r\n\tO(i) = A(i)\r\n}\r\n", "N=1", "A=3", "O=3")
RUNS(unicode_arrow, "def f(float(N) A) \xe2\x86\x92 (O) { O(i) = A(i) }", "N=1", "A=3", "O=3")
RUNS(no_line_ends, "def f(float(N) A)->(O,P){O(i)=A(i) P(i)=O(i)*2}", "N=2", "A=1 2",
     "O=1 2  P=2 4")
RUNS(names_like_numbers,
     "def f(float(N) infl, float(N) nanny, float(N) info) -> (O) {"
     " O(i) = infl(i) + nanny(i) + info(i) }",
     "N=1", "infl=1 nanny=2 info=3", "O=6")
RUNS(names_with_leading_digits, "def 1st(float(2N) 3A) -> (4O) { 4O(5i) = 3A(5i) }", "2N=2",
     "3A=7 8", "4O=7 8")
RUNS(names_of_words,
     "def f(float(N) in, float(N) exists, float(N) index) -> (input) {"
     " input(i) = in(i) + exists(i) + index(i) }",
     "N=1", "in=1 exists=2 index=4", "input=7")
RUNS(max_as_a_prefix, "def f(float(N) maximum) -> (minx) { minx(i) = max(maximum(i), 0) }", "N=2",
     "maximum=-1 2", "minx=0 2")
RUNS(exponent_literals, "def f() -> (a, b, c) { a = 1E3 b = 1e-3 c = 2.5e1 }", "", "",
     "a:f32=1000  b:f32~0.001  c=25")
RUNS(hex_literals, "def f() -> (a, b) { a = 0x1F b = 0x1.8p1 }", "", "", "a:i32=31  b:f32=3")
RUNS(literal_forms, "def f() -> (a, b, c, d) { a = .5 b = 1. c = 1.5f d = 10L }", "", "",
     "a=0.5  b=1  c=1.5  d=10")
RUNS(long_literal, "def f() -> (double a) { a = 0.1000000000000000055511151231257827 }", "", "",
     "a:f64=0.1")
RUNS(inf_and_nan, "def f() -> (a, b, c) { a = inf b = -inf c = nan }", "", "",
     "a:f32=inf  b=-inf  c=nan")
RUNS(true_and_false, "def f() -> (a, b) { a = true b = false }", "", "", "a:bool=1  b:bool=0")
RUNS(indices_named_like_types, "def f(float(N,M) A) -> (O) { O(i8,u8) = A(i8,u8) }", "N=1 M=2",
     "A=1 2", "O=1 2")

// --- Operators -----------------------------------------------------------------------------------
RUNS(precedence, "def f(float a) -> (O) { O = -3%2+4*5+7-a }", "", "a=0.5", "O=27.5")
RUNS(unary_binds_tighter, "def f(int() a, int() b) -> (O) { O = -a*b - -b }", "", "a=3 b=4", "O=-8")
RUNS(left_grouping, "def f(float a) -> (O) { O = a - 2 - 3 - 4 }", "", "a=10", "O=1")
RUNS(ternary_groups_right, "def f(bool() a, bool() b) -> (O) { O = a ? 1 : b ? 2 : 3 }", "",
     "a=0 b=1", "O=2")
RUNS(comparisons,
     "def f(float(N) a) -> (O) { O(i) = int(a(i) < 1) + 2*int(a(i) <= 1) +"
     " 4*int(a(i) > 1) + 8*int(a(i) >= 1) + 16*int(a(i) == 1) + 32*int(a(i) != 1) }",
     "N=3", "a=0 1 2", "O:i32=35 26 44")
RUNS(logic, "def f(float(N) a) -> (c) { c(i) = float(0 < a(i) && a(i) < 1 || !(a(i) < 5)) }", "N=4",
     "a=-1 0.5 2 5", "c=0 1 0 1")
RUNS(chained_comparison, "def f(int() x) -> (O) { O = 0 < x == true }", "", "x=3", "O:bool=1")
RUNS(bit_operators, "def f(int() a, int() b) -> (O, P) { O = a & b | 8 ^ 1 P = a << 2 >> 1 }", "",
     "a=6 b=3", "O=11  P=12")
RUNS(integer_division_is_floor, "def f(int(N) a) -> (q, r) { q(i) = a(i) / 3 r(i) = a(i) % 3 }",
     "N=4", "a=-4 -1 4 5", "q=-2 -1 1 1  r=2 2 1 2")
RUNS(float_modulo_is_floor, "def f(float(N) a) -> (r) { r(i) = a(i) % 3 }", "N=2", "a=-1 4.5",
     "r=2 1.5")
RUNS(parentheses, "def f(float a) -> (O) { O = ((a + 1)) * (2 - (3)) }", "", "a=1", "O=-2")
RUNS(ternary_guards_reads, "def f(float(N) A) -> (O) { O(i) = i > 0 ? A(i-1) : 0 where i in 0:N }",
     "N=3", "A=1 2 3", "O=0 1 2")
RUNS(and_guards_reads,
     "def f(float(N) A) -> (O) {"
     " O(i) = i > 0 && A(i-1) > 1 ? 1 : 0 where i in 0:N }",
     "N=3", "A=1 2 3", "O:i32=0 0 1")

// --- Types ---------------------------------------------------------------------------------------
RUNS(paper_type_names,
     "def f(float(N) a, double(N) b, half(N) c, int(N) d, byte(N) e) ->"
     " (A,B,C,D,E) { A(i)=a(i) B(i)=b(i) C(i)=c(i) D(i)=d(i) E(i)=e(i) }",
     "N=1", "a=1 b=2 c=3 d=4 e=5", "A:f32=1 B:f64=2 C:f16=3 D:i32=4 E:u8=5")
RUNS(sized_type_names,
     "def f(float16(N) a, bfloat16(N) b, float64(N) c, int8(N) d, uint64(N) e) ->"
     " (A,B,C,D,E) { A(i)=a(i) B(i)=b(i) C(i)=c(i) D(i)=d(i) E(i)=e(i) }",
     "N=1", "a=1 b=2 c=3 d=4 e=5", "A:f16=1 B:bf16=2 C:f64=3 D:i8=4 E:u64=5")
RUNS(short_type_names,
     "def f(f16(N) a, bf16(N) b, f64(N) c, i16(N) d, u32(N) e) -> (A,B,C,D,E) {"
     " A(i)=a(i) B(i)=b(i) C(i)=c(i) D(i)=d(i) E(i)=e(i) }",
     "N=1", "a=1 b=2 c=3 d=4 e=5", "A:f16=1 B:bf16=2 C:f64=3 D:i16=4 E:u32=5")
RUNS(promotion,
     "def f(i8(N) a, u8(N) b, i64(N) c, float(N) d, half(N) e, bf16(N) g) ->"
     " (A,B,C,D,E) { A(i)=a(i)+b(i) B(i)=b(i)+c(i) C(i)=c(i)+d(i) D(i)=a(i)+e(i) E(i)=e(i)+g(i) }",
     "N=1", "a=-1 b=2 c=3 d=4 e=5 g=6", "A:i16=1 B:i64=5 C:f32=7 D:f16=4 E:f32=11")
RUNS(weak_integers, "def f(u8(N) a, double(N) b) -> (A, B) { A(i) = a(i)+1 B(i) = b(i)*2 }", "N=1",
     "a=255 b=1.5", "A:u8=0  B:f64=3")
RUNS(weak_floats, "def f(half(N) a, int(N) b) -> (A, B) { A(i) = 0.5*a(i) B(i) = 0.5*b(i) }", "N=1",
     "a=3 b=3", "A:f16=1.5  B:f32=1.5")
RUNS(weak_branches, "def f(half(N) a) -> (A) { A(i) = (a(i) > 0 ? 0.5 : 2) * a(i) }", "N=2",
     "a=3 -1", "A:f16=1.5 -2")
RUNS(weak_functions, "def f(double(N) a) -> (A) { A(i) = a(i) * sqrt(2.0) }", "N=1", "a=1",
     "A:f64=1.4142135623730951")
RUNS(literals_alone, "def f() -> (a, b, c) { a = 1 b = 1.0 c = 1/2 }", "", "",
     "a:i32=1 b:f32=1 c:i32=0")
RUNS(indices_are_i64, "def f() -> (O) { O(i) = i * i where i in 0:3 }", "", "", "O:i64=0 1 4")
RUNS(sizes_are_i64, "def f(float(N) A) -> (O) { O = N + A.0 }", "N=3", "A=1 2 3", "O:i64=6")
RUNS(scalar_has_its_type, "def f(int s, u8 t) -> (O, P) { O = s P = t }", "s=-3 t=7", "",
     "O:i32=-3  P:u8=7")
RUNS(float_scalar, "def f(float s, float(N) A) -> (O) { O(i) = s * A(i) }", "N=2", "s=2 A=1 2",
     "O=2 4")
RUNS(bool_sums, "def f(float(N) A) -> (O) { O +=! A(i) > 0 }", "N=3", "A=1 -1 2", "O:i32=2")
RUNS(bool_arithmetic, "def f(bool() a, bool() b) -> (O) { O = a + b }", "", "a=1 b=1", "O:i32=2")
RUNS(casts,
     "def f(float(N) A) -> (O, P) { O(i) = int(A(i)) P(i) = float(i) / 2"
     " where i in 0:N }",
     "N=2", "A=-1.5 300", "O:i32=-1 300  P:f32=0 0.5")
RUNS(cast_saturates, "def f(float(N) A) -> (O) { O(i) = int8(A(i)) }", "N=2", "A=300 -300",
     "O:i8=127 -128")
RUNS(types_over_all_definitions,
     "def f(double(N) A) -> (O) { O(i) = 0 where i in 0:N O(i) += A(i) }", "N=2", "A=1 2",
     "O:f64=1 2")
RUNS(type_grows_after_a_read,
     "def f(float(N) A) -> (O, P) { O(i) = 1 where i in 0:N P(i) = O(i) + 1"
     " O(i) = O(i) * A(i) }",
     "N=2", "A=0.5 2", "O:f32=0.5 2  P:f32=2 2")
RUNS(declared_result_widens, "def f(float(N) A) -> (double(N) O) { O(i) = A(i) }", "N=1", "A=1.5",
     "O:f64=1.5")
RUNS(accumulate_f16_in_f32, "def f(half(N) A) -> (O) { O +=! A(i) * A(i) }", "N=2", "A=300 300",
     "O:f32=180000")
RUNS(accumulate_i8_in_i32, "def f(i8(N) A, i8(N) B) -> (O) { O +=! A(i) * B(i) }", "N=2",
     "A=100 100 B=100 100", "O:i32=20000")
RUNS(accumulate_unless_cast, "def f(u8(N) A) -> (u8 O) { O +=! A(i) }", "N=2", "A=200 100",
     "O:u8=44")
RUNS(maximum_keeps_its_type, "def f(half(N) A) -> (O) { O max=! A(i) }", "N=2", "A=1 2", "O:f16=2")
RUNS(declared_f16_sum, "def f(half(M,K) A) -> (half(M) O) { O(i) +=! A(i,k) }", "M=2 K=3",
     "A=2048 1 1 1 2 3", "O:f16=2050 6")
RUNS(declared_f16_update, "def f(half(M,K) A) -> (half(M) O) { O(i) += A(i,k) }", "M=1 K=3",
     "A=2048 1 1  O=2", "O:f16=2052")
RUNS(declared_f16_scatter, "def f(half(N) A, int(N) I, int K) -> (half(K) O) { O(I(i)) +=! A(i) }",
     "N=4 K=2", "A=2048 1 1 5 I=1 1 1 0", "O:f16=5 2050")
RUNS(declared_f16_meeting_indices, "def f(half(N) A) -> (half(2) O) { O(i/2) += A(i) }", "N=4",
     "A=2048 1 1 1  O=1 1", "O:f16=2050 3")
RUNS(declared_f16_odd_elements,
     "def f(half(N,M) A) -> (half(2*N) O) { O(j) = 7 where j in 0:2*N"
     "  O(2*i + 1) += A(i,k) }",
     "N=2 M=2", "A=1 2 3 4", "O:f16=7 10 7 14")
RUNS(declared_f16_product, "def f(half(N) A) -> (half O) { O *=! A(i) }", "N=3", "A=300 300 0.5",
     "O:f16=44992")
RUNS(f16_rounds_when_stored, "def f(half(N) A) -> (O) { O(i) = A(i) + 1 }", "N=1", "A=2048",
     "O:f16=2048")
RUNS(ternary_promotes, "def f(float(N) A) -> (O) { O(i) = i < 1 ? 0 : A(i) }", "N=2", "A=0.5 1.5",
     "O:f32=0 1.5")

// --- Reductions ----------------------------------------------------------------------------------
RUNS(product, "def f(float(N) A) -> (O) { O *=! A(i) }", "N=3", "A=2 3 4", "O=24")
RUNS(minimum, "def f(float(N) A) -> (O) { O min=! A(i) }", "N=3", "A=2 -3 4", "O=-3")
RUNS(maximum_of_negatives, "def f(float(N) A) -> (O) { O max=! A(i) }", "N=2", "A=-2 -3", "O=-2")
RUNS(empty_reduction,
     "def f(float(N) A) -> (a, b, c, d) { a +=! A(i) b *=! A(i) c min=! A(i)"
     " d max=! A(i) }",
     "N=0", "", "a=0 b=1 c=inf d=-inf")
RUNS(empty_result, "def f(float(N) A) -> (O) { O(i) = A(i) }", "N=0", "", "O[0]=")
RUNS(update_keeps_content, "def f(float(M,K) A, float(K) x) -> (C) { C(i) += A(i,k) * x(k) }",
     "M=2 K=2", "A=1 2 3 4  x=5 6  C=1 1", "C=18 40")
RUNS(init_resets_always, "def f(float(N) A) -> (O) { O(i) = 7 where i in 0:N  O(i) +=! A(i) }",
     "N=2", "A=1 2", "O=1 2")
RUNS(reduction_without_index, "def f(float(N) A) -> (O) { O(i) +=! A(i) }", "N=2", "A=1 2", "O=1 2")
RUNS(update_after_definition, "def f(float(N) A) -> (O) { O(i) = A(i)  O(i) *= A(i) }", "N=2",
     "A=2 3", "O=4 9")
RUNS(mixed_operators, "def f(float(N) A, float(N) B) -> (O) { O max=! A(i)  O min= B(i) }", "N=2",
     "A=1 5 B=3 4", "O=3")
RUNS(index_only_in_where, "def f(float(N) A) -> (O) { O(i) +=! A(i) where j in 0:3 }", "N=2",
     "A=1 2", "O=3 6")
RUNS(matrix_trace, "def f(float(N,N) A) -> (O) { O +=! A(i,i) }", "N=2", "A=1 2 3 4", "O=5")
RUNS(argmin, "def f(float(N) S) -> (v, at) { v min=! S(r)  at min=! S(r) == v ? r : N }", "N=4",
     "S=3 1 2 1", "v=1  at:i64=1")
RUNS(prefix_sum, "def f(float(N) A) -> (O) { O(i) +=! k <= i ? A(k) : 0.0 where i in 0:N }", "N=3",
     "A=1 2 3", "O=1 3 6")

// --- Subscripts ----------------------------------------------------------------------------------
RUNS(transpose, "def f(float(N,M) A) -> (O) { O(i,j) = A(j,i) }", "N=2 M=3", "A=1 2 3 4 5 6",
     "O[3,2]=1 4 2 5 3 6")
RUNS(stride, "def f(float(N) B) -> (O) { O(i) = B(2*i) }", "N=5", "B=1 2 3 4 5", "O[3]=1 3 5")
RUNS(stride_even, "def f(float(N) B) -> (O) { O(i) = B(2*i) }", "N=4", "B=1 2 3 4", "O[2]=1 3")
RUNS(shift, "def f(float(N) I) -> (O) { O(i) = I(i-1) }", "N=3", "I=1 2 3", "O[3]=1 2 3")
RUNS(reversal, "def f(float(N) I) -> (O) { O(i) = I(N-1-i) }", "N=3", "I=1 2 3", "O[3]=3 2 1")
RUNS(negative_coefficient,
     "def f(float(N) A, float(K) W) -> (O) {"
     " O(i) +=! A(i - k + K - 1) * W(k) }",
     "N=4 K=2", "A=1 2 3 4  W=1 10", "O[3]=12 23 34")
RUNS(floor_division, "def f(float(N) A) -> (O) { O(i) = A(i/2) where i in 0:2*N }", "N=2", "A=5 6",
     "O=5 5 6 6")
RUNS(modulo, "def f(float(N) A) -> (O) { O(i) = A(i % N) where i in 0:2*N }", "N=2", "A=5 6",
     "O=5 6 5 6")
RUNS(subscript_min_max,
     "def f(float(N) A) -> (O) {"
     " O(i) = A(max(0, min(i - 1, N - 1))) where i in 0:N+2 }",
     "N=2", "A=5 6", "O=5 5 6 6")
RUNS(scalar_in_subscript, "def f(int s, float(N) A) -> (O) { O(i) = A(s*i) }", "s=2 N=5",
     "A=1 2 3 4 5", "O[3]=1 3 5")
RUNS(scalar_in_bound, "def f(int s, float(N) A) -> (O) { O(i) = A(i) where i in s:N }", "s=1 N=3",
     "A=1 2 3", "O[2]=2 3")
RUNS(constant_subscript, "def f(float(N,M) A) -> (O) { O(i) = A(i, 1) }", "N=2 M=2", "A=1 2 3 4",
     "O=2 4")
RUNS(gather_with_offset, "def f(float(N) X, int(M) I) -> (Z) { Z(i) = X(I(i) + 1) }", "N=3 M=2",
     "X=1 2 3 I=1 0", "Z=3 2")
RUNS(gather_nested, "def f(float(N) X, int(M) I, int(K) J) -> (Z) { Z(i) = X(I(J(i))) }",
     "N=3 M=2 K=2", "X=1 2 3 I=2 0 J=1 0", "Z=1 3")
RUNS(gather_scaled, "def f(float(N) X, i64(M) I) -> (Z) { Z(i) = X(2*I(i)) }", "N=5 M=2",
     "X=1 2 3 4 5 I=2 0", "Z=5 1")
RUNS(gather_wide_index, "def f(float(N) X, u8(M) I) -> (Z) { Z(i) = X(I(i) * 2 % N) }", "N=3 M=2",
     "X=1 2 3 I=200 2", "Z=2 2")
RUNS(gather_by_scalar_tensor, "def f(float(N) X, int() k) -> (z) { z = X(k) }", "N=3",
     "X=1 2 3 k=2", "z=3")
RUNS(computed_index_tensor,
     "def f(float(N) X, float(M) F) -> (Z) { t(i) = int(F(i))"
     "  Z(i) = X(t(i)) }",
     "N=3 M=2", "X=1 2 3 F=1.5 0.25", "Z=2 1")
RUNS(gather_by_conversion, "def f(float(N) X, float(M) F) -> (Z) { Z(i) = X(int32(F(i))) }",
     "N=3 M=2", "X=1 2 3 F=1.5 0.25", "Z=2 1")
RUNS(gather_by_narrowing,
     "def f(float(N) X, i64(M) I, i8(M) J) -> (Z) { Z(i) = X(int(I(i))) + X(int(J(i))) }",
     "N=3 M=2", "X=5 6 7 I=1 4294967298 J=0 2", "Z=11 14")
RUNS(gather_by_function,
     "def f(float(N) X, int(M) I) -> (Z) { Z(i,j) = X(abs(I(i)) + j)"
     " where j in 0:2 }",
     "N=4 M=2", "X=1 2 3 4 I=-2 1", "Z=3 4 2 3")
RUNS(gather_by_ternary, "def f(float(N) X) -> (Z) { Z(i) = X(i < 2 ? i : 0) where i in 0:N }",
     "N=3", "X=1 2 3", "Z=1 2 1")
RUNS(gather_by_definition,
     "def f(float(N) X, u8(M) B) -> (Z) { Z(i) = X(x) * x where x = B(i) * 3 }", "N=5 M=2",
     "X=1 2 3 4 5 B=1 86", "Z:f32=12 6")
RUNS(gather_by_reduction_index,
     "def f(float(N) X, float(M,K) F) -> (Z) { Z(i) +=! X(int(F(i,k))) }", "N=3 M=2 K=2",
     "X=1 10 100 F=0 1 2 2", "Z=11 200")
RUNS(scatter_by_conversion, "def f(float(N) F, int K) -> (int(K) H) { H(int(F(i))) +=! 1 }",
     "N=3 K=2", "F=0.5 1.5 1.25", "H=1 2")
RUNS(computed_twice,
     "def f(float(N) X, float(N) Y, float(M) F) -> (Z) {"
     " Z(i) = X(int(F(i))) + Y(int(F(i))) }",
     "N=2 M=1", "X=1 2 Y=10 20 F=1", "Z=22")
RUNS(dim_of_input, "def f(float(N,M) A) -> (O) { O(i) = A(i, A.1 - 1) }", "N=2 M=3",
     "A=1 2 3 4 5 6", "O=3 6")
RUNS(dim_of_computed,
     "def f(float(N) A, float(K) W) -> (O, P) { O(i) +=! A(i+k) * W(k)"
     "  P(i) = i where i in 0:O.0 }",
     "N=4 K=2", "A=1 2 3 4 W=1 1", "O=3 5 7  P=0 1 2")
RUNS(dim_as_value, "def f(float(N) A) -> (m) { m +=! A(i)  m = m / A.0 }", "N=4", "A=1 2 3 6",
     "m=3")
RUNS(affine_left_side, "def f(float(N) A, float(N) B) -> (O) { O(2*i) = A(i)  O(2*i+1) = B(i) }",
     "N=2", "A=1 2 B=3 4", "O[4]=1 3 2 4")
RUNS(constant_left_side, "def f(float(N) A) -> (float(2) O) { O(0) = A(0)  O(1) = A(N-1) }", "N=3",
     "A=1 2 3", "O=1 3")
RUNS(flatten, "def f(float(N,M) A) -> (O) { O(M*i + j) = A(i,j) }", "N=2 M=2", "A=1 2 3 4",
     "O[4]=1 2 3 4")
RUNS(diagonal, "def f(float(N) x) -> (O) { O(i,j) = 0 where i in 0:N, j in 0:N  O(i,i) = x(i) }",
     "N=2", "x=5 6", "O:f32=5 0 0 6")
RUNS(scatter_max, "def f(float(N) A, int(N) I, int K) -> (float(K) O) { O(I(i)) max=! A(i) }",
     "N=3 K=2", "A=1 5 3 I=0 1 0", "O=3 5")
RUNS(scatter_into_defined,
     "def f(int(N) B, int K) -> (H) { H(k) = 0 where k in 0:K"
     "  H(B(i)) += 1 }",
     "N=3 K=2", "B=1 1 0", "H:i32=1 2")
RUNS(reduction_through_division, "def f(float(N) A) -> (float(2) O) { O(i/2) +=! A(i) }", "N=4",
     "A=1 2 3 4", "O=3 7")
RUNS(upsample, "def f(float(N) A, int s) -> (O) { O(i) = A(i/s) where i in 0:s*N }", "N=2 s=3",
     "A=1 2", "O=1 1 1 2 2 2")

// --- where ---------------------------------------------------------------------------------------
RUNS(where_range, "def f(float(N) A) -> (O) { O(i) = A(i) where i in 1:N-1 }", "N=4", "A=1 2 3 4",
     "O[2]=2 3")
RUNS(where_two_ranges, "def f() -> (O) { O(i,j) = i + 10*j where i in 0:2, j in 1:3 }", "", "",
     "O[2,2]=10 20 11 21")
RUNS(where_let, "def f(float(N) A) -> (O) { O(i) = 2*foo where foo = A(i) }", "N=2", "A=1 2",
     "O=2 4")
RUNS(where_let_chain, "def f(float(N) A) -> (O) { O(i) = c where a = A(i), b = a*a, c = a + b }",
     "N=2", "A=1 2", "O=2 6")
RUNS(where_let_subscript,
     "def f(float(N) A) -> (O) { O(i) = A(at) where at = N - 1 - i, i in 0:N }", "N=2", "A=1 2",
     "O=2 1")
RUNS(where_let_gather, "def f(float(N) A, int(M) I) -> (O) { O(i) = A(at) * at where at = I(i) }",
     "N=3 M=2", "A=1 2 3 I=2 1", "O=6 2")
RUNS(where_exists, "def f(float(N) A) -> (O) { O(i) = 3 where exists A(i) }", "N=2", "A=0 0",
     "O:i32=3 3")
RUNS(where_mixed,
     "def f(float(N) A) -> (O) { O(i) +=! w * A(i+k)"
     " where k in 0:2, w = 0.5, exists A(i+1) }",
     "N=3", "A=1 2 3", "O=1.5 2.5")
RUNS(where_size_expression, "def f(float(N) A) -> (O) { O(i) = A(i/2) where i in 0:A.0*2 }", "N=2",
     "A=1 2", "O=1 1 2 2")
RUNS(exists_as_a_name, "def f(float(N) A) -> (O) { O(exists) = A(exists) where exists in 0:N }",
     "N=1", "A=4", "O=4")

// --- Borders -------------------------------------------------------------------------------------
RUNS(pad_in_a_sum,
     "def f(float(N) A) -> (O) { O(i) +=! pad(A(i + k - 1)) where k in 0:3, i in 0:N }", "N=3",
     "A=1 2 3", "O=3 6 5")
RUNS(pad_in_a_minimum,
     "def f(float(N) A) -> (O) {"
     " O(i) min=! pad(A(i + k - 1)) where k in 0:3, i in 0:N }",
     "N=3", "A=1 2 3", "O=1 1 2")
RUNS(pad_with_a_value, "def f(float(N) A) -> (O) { O(i) = pad(A(i - 1), -7) where i in 0:N+2 }",
     "N=2", "A=1 2", "O=-7 1 2 -7")
RUNS(pad_with_an_expression,
     "def f(float(N) A, float(N) B) -> (O) {"
     " O(i) = pad(A(i - 1), B(i)) where i in 0:N }",
     "N=2", "A=1 2 B=5 6", "O=5 1")
RUNS(pad_promotes, "def f(int(N) A) -> (O) { O(i) = pad(A(i - 1), 0.5) where i in 0:N }", "N=2",
     "A=1 2", "O:f32=0.5 1")
RUNS(clamp_border, "def f(float(N) A) -> (O) { O(i) = clamp(A(i - 2)) where i in 0:N+4 }", "N=2",
     "A=1 2", "O=1 1 1 2 2 2")
RUNS(mirror_border, "def f(float(N) A) -> (O) { O(i) = mirror(A(i - 2)) where i in 0:N+4 }", "N=3",
     "A=1 2 3", "O=3 2 1 2 3 2 1")
RUNS(mirror_far, "def f(float(N) A) -> (O) { O(i) = mirror(A(i - 5)) where i in 0:12 }", "N=3",
     "A=1 2 3", "O=2 1 2 3 2 1 2 3 2 1 2 3")
RUNS(mirror_of_one, "def f(float(N) A) -> (O) { O(i) = mirror(A(i - 2)) where i in 0:4 }", "N=1",
     "A=9", "O=9 9 9 9")
RUNS(border_keeps_bare_indices,
     "def f(float(N,M) A) -> (O) {"
     " O(i,j) = clamp(A(i, j + 1)) where j in 0:M }",
     "N=2 M=2", "A=1 2 3 4", "O=2 2 4 4")
RUNS(pad_of_a_computed_tensor,
     "def f(float(N) A) -> (O) { T(i) = 2*A(i)"
     "  O(i) +=! pad(T(i + k - 1)) where k in 0:3, i in 0:N }",
     "N=3", "A=1 2 3", "O=6 12 10")
RUNS(clamp_of_a_gather, "def f(float(N) A, int(M) I) -> (O) { O(i) = clamp(A(I(i))) }", "N=2 M=3",
     "A=1 2 I=-5 1 9", "O=1 2 2")
RUNS(padded_stencil_2d,
     "def f(float(H,W) A) -> (O) { O(y,x) = pad(A(y-1,x), 0) + pad(A(y+1,x), 0)"
     " + pad(A(y,x-1), 0) + pad(A(y,x+1), 0) - 4*A(y,x) }",
     "H=2 W=2", "A=1 2 3 4", "O=1 -3 -7 -11")

RUNS(pad_into_a_larger_result, "def f(float(N) A, int M) -> (float(M) O) { O(i) +=! pad(A(i)) }",
     "N=2 M=3", "A=1 2", "O=1 2 0")
RUNS(clamp_into_a_larger_result, "def f(float(N) A, int M) -> (float(M) O) { O(i) = clamp(A(i)) }",
     "N=2 M=4", "A=1 2", "O=1 2 2 2")
RUNS(borders_of_the_index_of_a_step,
     "def f(float(N) A) -> (O, P, float(5) Q) {\n"
     "  Q(i) = 0 for t in 0:5 { O(t) = clamp(A(t)) P(t) = pad(A(t), 7.0) Q(t) += pad(A(t)) } }",
     "N=2", "A=1 2", "O=1 2 2 2 2  P=1 2 7 7 7  Q=1 2 0 0 0")

// --- Builtins ------------------------------------------------------------------------------------
RUNS(min_and_max, "def f(int(N) A) -> (O, P) { O(i) = min(A(i), 0) P(i) = max(A(i), 0) }", "N=2",
     "A=-2 3", "O:i32=-2 0  P=0 3")
RUNS(select_builtin, "def f(float(N) A) -> (O) { O(i) = select(A(i) > 0, A(i), 0) }", "N=2",
     "A=-2 3", "O=0 3")
RUNS(relu_and_abs, "def f(int(N) A) -> (O, P) { O(i) = relu(A(i)) P(i) = abs(A(i)) }", "N=2",
     "A=-2 3", "O:i32=0 3  P:i32=2 3")
RUNS(sigmoid_builtin, "def f(float(N) A) -> (O) { O(i) = sigmoid(A(i)) }", "N=2", "A=0 1",
     "O~0.5 0.73105858")
RUNS(f_suffixes, "def f(float(N) A) -> (O, P) { O(i) = fmaxf(sqrtf(A(i)), 1) P(i) = erff(A(i)) }",
     "N=1", "A=4", "O=2  P~0.99999998")
RUNS(math_of_integers, "def f(int(N) A) -> (O) { O(i) = sqrt(A(i)) }", "N=1", "A=9", "O:f32=3")
RUNS(math_of_doubles, "def f(double(N) A) -> (O) { O(i) = exp2(A(i)) }", "N=1", "A=3", "O:f64=8")
RUNS(rounding,
     "def f(float(N) A) -> (a,b,c,d) { a(i) = floor(A(i)) b(i) = ceil(A(i))"
     " c(i) = trunc(A(i)) d(i) = round(A(i)) }",
     "N=2", "A=-1.5 2.25", "a=-2 2  b=-1 3  c=-1 2  d=-2 2")
RUNS(two_arguments,
     "def f(float(N) A) -> (a,b,c,d) { a(i) = pow(A(i), 2) b(i) = hypot(A(i), 4)"
     " c(i) = copysign(A(i), -1) d(i) = fmod(A(i), 2) }",
     "N=1", "A=3", "a=9 b=5 c=-3 d=1")
RUNS(three_and_four_arguments,
     "def f(float(N) A) -> (a,b,c) { a(i) = fma(A(i), 2, 1)"
     " b(i) = norm3d(2, A(i), 6) c(i) = norm4d(1, A(i), 3, 9) }",
     "N=1", "A=3", "a=7 b=7 c=10")
RUNS(reciprocals, "def f(float(N) A) -> (a,b) { a(i) = reciprocal(A(i)) b(i) = rsqrt(A(i)) }",
     "N=1", "A=4", "a=0.25 b=0.5")

// --- Several statements and functions ------------------------------------------------------------
RUNS(temporaries,
     "def f(float(N) A) -> (O) { T(i) = A(i) + 1  U(i) = T(i) * T(i)  O(i) = U(i) - 1 }", "N=2",
     "A=1 2", "O=3 8")
RUNS(redefinition, "def f(float(N) A) -> (O, P) { O(i) = A(i)  P(i) = O(i)  O(i) = -A(i) }", "N=1",
     "A=5", "O=-5 P=5")
RUNS(in_place_pointwise, "def f(float(N) A) -> (O) { O(i) = A(i)  O(i) = O(i)*O(i) + O(i) }", "N=2",
     "A=1 2", "O=2 6")
RUNS(in_place_parts,
     "def f(float(N) A) -> (float(2*N) O) { O(i) = A(i) where i in 0:N"
     "  O(i + N) = O(i) where i in 0:N }",
     "N=2", "A=1 2", "O=1 2 1 2")
RUNS(call_one_result,
     "def g(float(N) A) -> (B) { B(i) = 2*A(i) }"
     " def f(float(M) X) -> (O) { Y = g(X)  O(i) = Y(i) + 1 }",
     "M=2", "X=1 2", "O=3 5")
RUNS(call_two_results,
     "def g(float(N) A) -> (B, C) { B(i) = 2*A(i)  C +=! A(i) }"
     " def f(float(M) X) -> (P, Q) { (P, Q) = g(X) }",
     "M=2", "X=1 2", "P=2 4  Q=3")
RUNS(call_before_definition,
     "def f(float(M) X) -> (O) { O = g(X) }"
     " def g(float(N) A) -> (B) { B(i) = 2*A(i) }"
     " def h(float(M) X) -> (O) { O = f(X) }",
     "M=2", "X=1 2", "O=2 4")
RUNS(call_nested,
     "def g(float(N) A) -> (B) { t(i) = A(i) + 1  B(i) = t(i) * N }"
     " def h(float(N) A) -> (B) { t = g(A)  B = g(t) }"
     " def f(float(M) X) -> (O) { t(i) = X(i)  O = h(t) }",
     "M=2", "X=1 2", "O=10 14")
RUNS(call_with_integer,
     "def g(int s, float(N) A) -> (B) { B(i) = A(s*i) }"
     " def f(int k, float(M) X) -> (O) { O = g(k + 1, X) }",
     "k=1 M=4", "X=1 2 3 4", "O[2]=1 3")
RUNS(call_with_float,
     "def g(float s, float(N) A) -> (B) { B(i) = s*A(i) }"
     " def f(float(M) X) -> (O, P) { c +=! X(i)  O = g(c, X)  P = g(0.5, X) }",
     "M=2", "X=1 3", "O=4 12  P=0.5 1.5")
RUNS(call_sizes_of_computed,
     "def g(float(N) A) -> (B) { B(i) = A(i) / N }"
     " def f(float(M) X, float(K) W) -> (O) { Y(i) +=! X(i+k) * W(k)  O = g(Y) }",
     "M=4 K=3", "X=1 2 3 4 W=1 1 1", "O[2]=3 4.5")
RUNS(call_in_out,
     "def acc(float(N) A) -> (S) { S(i) += A(i) }"
     " def f(float(M) X, float(M) Y) -> (O) { O(i) = X(i)  O = acc(Y) }",
     "M=2", "X=1 2 Y=10 20", "O=11 22")
RUNS(call_declared_result,
     "def g(float(N) A) -> (double(N) B) { B(i) = A(i) }"
     " def f(float(M) X) -> (O) { O = g(X) }",
     "M=1", "X=1.5", "O:f64=1.5")
RUNS(call_after_bare_name,
     "def g(float(N) A) -> (B, C) { B(i) = A(i)  C(i) = -A(i) }"
     " def f(float s, float(M) X) -> (a, p, q) { a = s\n (p, q) = g(X) }",
     "M=1", "s=2 X=3", "a=2 p=3 q=-3")
RUNS(concat_last_axis, "def f(float(N,M) A, float(N,K) B) -> (O) { O = concat(A, B) }",
     "N=2 M=1 K=2", "A=1 2 B=3 4 5 6", "O[2,3]=1 3 4 2 5 6")
RUNS(concat_first_axis, "def f(float(N,M) A, float(K,M) B) -> (O) { O = concat(A, B, axis = 0) }",
     "N=1 M=2 K=2", "A=1 2 B=3 4 5 6", "O[3,2]=1 2 3 4 5 6")
RUNS(concat_negative_axis,
     "def f(float(N,M) A, float(K,M) B) -> (O) {"
     " O = concat(A, B, axis = -2) }",
     "N=1 M=2 K=1", "A=1 2 B=3 4", "O[2,2]=1 2 3 4")
RUNS(concat_three_computed,
     "def f(float(N) A) -> (O) { X(i) = A(i) Y(i) = -A(i) Z(i) = 2*A(i)"
     " O = concat(X, Y, Z) }",
     "N=2", "A=1 2", "O[6]=1 2 -1 -2 2 4")
RUNS(concat_types, "def f(int(N) A, float(M) B) -> (O) { O = concat(A, B) }", "N=1 M=1",
     "A=1 B=0.5", "O:f32=1 0.5")
RUNS(concat_of_shifted, "def f(float(N) A) -> (O) { S(i) = A(i-1)  O = concat(S, A) }", "N=2",
     "A=1 2", "O[4]=1 2 1 2")
RUNS(concat_by_hand,
     "def f(float(N,K) A, float(N,M) B) -> (O) {"
     " O(i,j) = j < K ? A(i,j) : B(i,j-K) where j in 0:K+M }",
     "N=1 K=2 M=1", "A=1 2 B=3", "O=1 2 3")
RUNS(hint_is_kept,
     "def f(float(M,K) A, float(K,N) B) -> (C) {"
     " C(m,n) +=! A(m,k) * B(k,n) <=> gemm(A, B) }",
     "M=1 K=1 N=1", "A=2 B=3", "C=6")
RUNS(hint_and_where, "def f(float(N) A) -> (C) { C(i) = A(i) <=> copy(A) where i in 0:N }", "N=1",
     "A=2", "C=2")
RUNS(expression_dimensions, "def f(float(N) A, float(2*N) B) -> (O) { O(i) = A(i) + B(2*i) }",
     "N=2", "A=1 2 B=3 4 5 6", "O=4 7")
RUNS(number_dimensions, "def f(float(N,3) A) -> (O) { O(i) +=! A(i,k) }", "N=1", "A=1 2 3", "O=6")
RUNS(size_and_tensor_of_one_name, "def f(float(W) A, float(W) W) -> (O) { O(i) = A(i) * W(i) + W }",
     "W=2", "A=1 2 W=3 4", "O=5 10")
RUNS(rank_zero_with_parentheses, "def f(float() a) -> (s) { s() = a() + a }", "", "a=2", "s=4")
RUNS(result_declared_with_sizes, "def f(float(N) A) -> (float(N) O) { O(i) = 1 }", "N=2", "A=0 0",
     "O=1 1")
RUNS(ranges_intersect, "def f(float(N) A, float(M) B) -> (O) { O(i) = A(i)  O(i) += B(i) }",
     "N=3 M=2", "A=1 2 3 B=10 20", "O[2]=11 22")
RUNS(large_rank,
     "def f(float(a,b,c,d,e,f,g,h) A) -> (O) {"
     " O(s,t,u,v,w,x,y,z) = A(z,y,x,w,v,u,t,s) }",
     "a=1 b=2 c=1 d=1 e=1 f=1 g=1 h=2", "A=1 2 3 4", "O[2,1,1,1,1,1,2,1]=1 3 2 4")

RUNS(call_with_literals,
     "def g(float(N) A) -> (B) { B(i) = A(i) / 2 }"
     " def f() -> (O) { T(i) = 1 where i in 0:2  O = g(T) }",
     "", "", "O=0.5 0.5")
RUNS(unused_definition, "def f(float(N) A, float(K) B) -> (O) { O(i) = A(i) where x = B(k) }",
     "N=2 K=3", "A=1 2 B=1 2 3", "O=1 2")
RUNS(definition_used_in_a_range,
     "def f(float(N) A) -> (O) { O(i) = A(i) where n = N - 1, i in 0:n }", "N=3", "A=1 2 3",
     "O=1 2")

// --- What the Program keeps ----------------------------------------------------------------------

TEST(hint_text) {
    TcRun r;
    CHECK(tc_run_parse(&r, "def f(float(N) A) -> (C) { C(i) = A(i) <=> copy( A,1 ) }"));
    CHECK_STR_EQ(r.program->stmts.at[0].hint, "copy( A,1 )");
    arena_free(&r.arena);
}

TEST(order_of_inputs) {
    TcRun r;
    CHECK(
        tc_run_parse(&r, "def f(float(N) A, float s, int k, float(M) B, bool t) -> (o) { o = 1 }"));
    CHECK_INT_EQ(r.program->ninputs, 4);
    CHECK_STR_EQ(r.program->tensors.at[0].name, "A");
    CHECK_STR_EQ(r.program->tensors.at[1].name, "s");
    CHECK_STR_EQ(r.program->tensors.at[2].name, "B");
    CHECK_STR_EQ(r.program->tensors.at[3].name, "t");
    arena_free(&r.arena);
}

TEST(order_of_programs) {
    TcRun r;
    CHECK(tc_run_parse(&r, "def b() -> (o) { o = a() } def a() -> (o) { o = 1 }"));
    CHECK_INT_EQ(r.module->programs.n, 2);
    CHECK_STR_EQ(r.module->programs.at[0]->name, "b");
    CHECK_STR_EQ(r.module->programs.at[1]->name, "a");
    arena_free(&r.arena);
}

TEST(sums_widen_before_they_multiply) {
    TcRun r;
    CHECK(tc_run_parse(&r, "def f(half(N) A) -> (O) { O +=! A(i) * A(i) }"));
    const Expr *e = r.program->stmts.at[0].value;
    CHECK(e->kind == EXPR_OP && e->op == OP_MUL && e->type == TYPE_F32);
    arena_free(&r.arena);
}

TEST(needless_padding_leaves_nothing) {
    TcRun r;
    CHECK(tc_run_parse(&r, "def f(float(N,M) A) -> (float(N,M) O) {"
                           " O(i,j) +=! pad(A(i, j + k - 1)) where i in 0:N, k in 1:2 }"));
    CHECK_INT_EQ(r.program->stmts.at[0].nconstraints, 0);
    arena_free(&r.arena);
}

TEST(guards_stay_affine) {
    TcRun r;
    CHECK(tc_run_parse(
        &r, "def f(float(N) A) -> (O) { O(i) = i + 1 - 2*i > 0 ? 1 : 2 where i in 0:N }"));
    const Expr *c = r.program->stmts.at[0].value->arg[0];
    CHECK(c->op == OP_GT && c->arg[0]->kind == EXPR_INDEX);
    arena_free(&r.arena);
}

TEST(failed_functions_are_left_out) {
    TcRun r;
    CHECK(!tc_run_parse(&r, "def f(float(N) A) -> (O) { O(i) = B(i) } def g() -> (o) { o = 1 }"
                            " def h(float(N) A) -> (O) { O = f(A) }"));
    CHECK_INT_EQ(r.module->programs.n, 1);
    CHECK_INT_EQ(r.diags.errors, 1);
    arena_free(&r.arena);
}
