package ir_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/ir"
)

var goTypes = map[reflect.Kind]*ir.Type{
	reflect.Bool: ir.Bool, reflect.Int8: ir.I8, reflect.Uint16: ir.U16, reflect.Int32: ir.I32,
	reflect.Float32: ir.F32, reflect.Int64: ir.I64, reflect.Float64: ir.F64,
}

// typeOf returns the IR type of a Go type, and the offsets of its scalars.
func typeOf(t reflect.Type, at uintptr) (*ir.Type, []int) {
	switch t.Kind() {
	case reflect.Array:
		elem, _ := typeOf(t.Elem(), 0)
		var offs []int
		for i := range t.Len() {
			_, o := typeOf(t.Elem(), at+uintptr(i)*t.Elem().Size())
			offs = append(offs, o...)
		}
		return ir.ArrayOf(t.Len(), elem), offs
	case reflect.Struct:
		var fields []*ir.Type
		var offs []int
		for i := range t.NumField() {
			f, o := typeOf(t.Field(i).Type, at+t.Field(i).Offset)
			fields, offs = append(fields, f), append(offs, o...)
		}
		return ir.StructOf(fields...), offs
	}
	return goTypes[t.Kind()], []int{int(at)}
}

// The argument block holds structs as Go lays them out.
func TestStructsAsInGo(t *testing.T) {
	type inner struct {
		A int64
		B int8
	}
	for _, v := range []any{
		struct{}{}, inner{},
		struct {
			X int8
			Y inner
			Z int8
		}{},
		struct {
			A bool
			B [3]uint16
			C [2]inner
			D float32
		}{},
		struct {
			A int32
			B struct{}
		}{},
		struct {
			A int8
			B [0]float64
		}{},
		struct {
			A struct{}
			B [0]float64
		}{},
		[3]struct {
			A bool
			B int32
		}{},
	} {
		goType := reflect.TypeOf(v)
		typ, offs := typeOf(goType, 0)
		assert.Equal(t, int(goType.Size()), typ.Size(), "%v", goType)
		assert.Equal(t, goType.Align(), typ.Align(), "%v", goType)
		var have []int
		typ.EachLeaf(func(off int, _ *ir.Type) { have = append(have, off) })
		assert.Equal(t, offs, have, "%v", goType)
	}
}

func TestParamOffsets(t *testing.T) {
	const text = `module "k"

kernel @K(%0: bool, %1: ptr<global,f32>, %2: i64, %3: i8, %4: i64, %5: i8, %6: i32) args(a scalar bool "bool", x slice f32 "[]float32", n const i64 "dsl.ConstInt", s struct {i8,{i64,i8}} "k.S", on const bool "dsl.ConstBool", b scalar i32 "int32") {
b0:
  ret
}
`
	m, err := ir.Parse(text)
	require.NoError(t, err)
	require.NoError(t, ir.Verify(m))
	assert.Equal(t, text, fmt.Sprint(m.Text()))
	offs, size := m.Kernel().ParamOffsets()
	assert.Equal(t, []int{0, 8, 16, 24, 32, 40, 48}, offs)
	assert.Equal(t, 52, size)
	at, _ := ir.Layout(m.Kernel().Args)
	assert.Equal(t, []int{0, 8, 24, 24, 48, 48}, at)

	m.Kernel().Args[3].Elem = ir.StructOf(ir.I8, ir.I32, ir.I8)
	assert.ErrorContains(t, ir.Verify(m), "argument s does not match its parameters")
	m.Kernel().Args = m.Kernel().Args[:3]
	assert.ErrorContains(t, ir.Verify(m), "arguments take 3 parameters, the function has 7")
}
