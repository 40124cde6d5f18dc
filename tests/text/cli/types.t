# Every element type goes from file to file.
--- copy.sh
# copy.sh TYPE DESCR VALUES: an identity of that type
t=$1 d=$2; shift 2
echo "def copy($t(N) A) -> (B) { B(i) = A(i) }" > copy.tc
$LW_ROOT/tests/npy write a.npy $d 3 "$@"
loopwright run copy.tc --in A=a.npy --out B=b.npy | tail -1 && $LW_ROOT/tests/npy print b.npy
$ sh copy.sh float64 '<f8' 0.1 -inf 1e300
           [0.1, -inf, 1e+300]
{'descr': '<f8', 'fortran_order': False, 'shape': (3,), } 0.1 -inf 1e+300
$ sh copy.sh float32 '<f4' 0.1 -0.0 nan
           [0.1, -0, nan]
{'descr': '<f4', 'fortran_order': False, 'shape': (3,), } 0.10000000149011612 -0.0 nan
$ sh copy.sh float16 '<f2' 0.1 65504 6e-8
           [0.1, 65504, 6e-08]
{'descr': '<f2', 'fortran_order': False, 'shape': (3,), } 0.0999755859375 65504.0 5.960464477539063e-08
$ sh copy.sh bfloat16 '<u2' 16256 49024 0
           [1, -1, 0]
{'descr': '<u2', 'fortran_order': False, 'shape': (3,), } 16256 49024 0
--- stderr
note: 'B' is bf16; 'b.npy' holds its bits as uint16
$ sh copy.sh int8 '|i1' -128 0 127
           [-128, 0, 127]
{'descr': '|i1', 'fortran_order': False, 'shape': (3,), } -128 0 127
$ sh copy.sh int16 '<i2' -32768 0 32767
           [-32768, 0, 32767]
{'descr': '<i2', 'fortran_order': False, 'shape': (3,), } -32768 0 32767
$ sh copy.sh int32 '<i4' -2147483648 0 2147483647
           [-2147483648, 0, 2147483647]
{'descr': '<i4', 'fortran_order': False, 'shape': (3,), } -2147483648 0 2147483647
$ sh copy.sh int64 '<i8' -9223372036854775808 0 9223372036854775807
           [-9223372036854775808, 0, 9223372036854775807]
{'descr': '<i8', 'fortran_order': False, 'shape': (3,), } -9223372036854775808 0 9223372036854775807
$ sh copy.sh uint8 '|u1' 0 1 255
           [0, 1, 255]
{'descr': '|u1', 'fortran_order': False, 'shape': (3,), } 0 1 255
$ sh copy.sh uint16 '<u2' 0 1 65535
           [0, 1, 65535]
{'descr': '<u2', 'fortran_order': False, 'shape': (3,), } 0 1 65535
$ sh copy.sh uint32 '<u4' 0 1 4294967295
           [0, 1, 4294967295]
{'descr': '<u4', 'fortran_order': False, 'shape': (3,), } 0 1 4294967295
$ sh copy.sh uint64 '<u8' 0 1 18446744073709551615
           [0, 1, 18446744073709551615]
{'descr': '<u8', 'fortran_order': False, 'shape': (3,), } 0 1 18446744073709551615
$ sh copy.sh bool '|b1' 0 1 1
           [0, 1, 1]
{'descr': '|b1', 'fortran_order': False, 'shape': (3,), } False True True
