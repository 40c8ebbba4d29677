package irconf

import (
	"fmt"

	"github.com/gokiln/kiln/compiler/ir"
)

// structArgument stores every part of a struct that is passed by value, between
// arguments whose place depends on its size and alignment.
func structArgument() Case {
	const text = `module "struct argument"

kernel @k(%o: ptr<global,i64>, %on: i64, %a: u8, %p: i8, %q: i64, %r: bool, %s: i16, %u: i16, %v: f32, %w: u8, %b: u8, %z: i32) args(o slice i64 "[]int64", a scalar u8 "uint8", n const i64 "dsl.ConstInt", s struct {i8,{i64,bool},[2]i16,f32,u8} "T", e struct {} "E", b scalar u8 "uint8", z scalar i32 "int32") {
b0:
`
	names := []string{"a", "p", "q", "r", "s", "u", "v", "w", "b", "z"}
	body := "  %one = const 1 : i64\n  %zero = const 0 : i64\n"
	for i, name := range names {
		value := "%c" + name
		switch name {
		case "q":
			value = "%q"
		case "r":
			body += "  %cr = select %r, %one, %zero : i64\n"
		default:
			body += fmt.Sprintf("  %%c%s = convert %%%s : i64\n", name, name)
		}
		body += fmt.Sprintf("  %%i%d = const %d : i64\n  %%a%d = offset %%o, %%i%d : ptr<global,i64>\n  store %%a%d, %s\n", i, i, i, i, i, value)
	}
	s := make([]byte, 40)
	for i := range s {
		s[i] = 0xA5 // padding
	}
	put := func(at int, t *ir.Type, v uint64) { copy(s[at:], encode(t, []uint64{v})) }
	minus := func(n int64) uint64 { return uint64(-n) }
	put(0, ir.I8, minus(3))
	put(8, ir.I64, minus(1<<40))
	put(16, ir.Bool, 1)
	put(24, ir.I16, minus(300))
	put(26, ir.I16, 301)
	put(28, ir.F32, 0x41200000) // 10
	put(32, ir.U8, 200)
	scalar := func(t *ir.Type, v uint64) Arg { return Arg{Buf: -1, Scalar: encode(t, []uint64{v})} }
	nothing := Arg{Buf: -1, Align: 1} // a constant, an empty struct
	want := []uint64{255, minus(3), minus(1 << 40), 1, minus(300), 301, 10, 200, 77, minus(9)}
	return Case{
		Name: "struct argument", Text: text + body + "  ret\n}\n", Types: []*ir.Type{ir.I64},
		Grid: [3]int{1, 1, 1}, Block: [3]int{1, 1, 1},
		Args: []Arg{{Buf: 0}, scalar(ir.U8, 255), nothing, {Buf: -1, Scalar: s, Align: 8}, nothing, scalar(ir.U8, 77), scalar(ir.I32, minus(9))},
		Bufs: [][]byte{make([]byte, 8*len(want))}, Want: [][]byte{encode(ir.I64, want)},
	}
}
