package kernels

import "github.com/gokiln/kiln/dsl"

// Numbers has a slice of every type.
type Numbers struct {
	I8   [2]int8
	U8   [2]uint8
	I16  [2]int16
	U16  [2]uint16
	I32  int32
	U32  uint32
	I64  int64
	U64  uint64
	F32  float32
	F64  float64
	F16  dsl.F16
	BF16 dsl.BF16
	E4M3 dsl.F8E4M3
	E5M2 dsl.F8E5M2
}

// Values converts every element to every type by value.
//
//kiln:kernel
func Values[S dsl.Number](t dsl.Thread, out []Numbers, in []S) {
	for i := t.Global(); i < len(in); i += t.GlobalSize() {
		x := in[i]
		o := &out[i]
		o.I8[0], o.U8[0], o.I16[0], o.U16[0] = dsl.Convert[int8](x), dsl.Convert[uint8](x), dsl.Convert[int16](x), dsl.Convert[uint16](x)
		o.I32, o.U32, o.I64, o.U64 = dsl.Convert[int32](x), dsl.Convert[uint32](x), dsl.Convert[int64](x), dsl.Convert[uint64](x)
		o.F32, o.F64 = dsl.Convert[float32](x), dsl.Convert[float64](x)
		o.F16, o.BF16 = dsl.Convert[dsl.F16](x), dsl.Convert[dsl.BF16](x)
		o.E4M3, o.E5M2 = dsl.Convert[dsl.F8E4M3](x), dsl.Convert[dsl.F8E5M2](x)
	}
}
