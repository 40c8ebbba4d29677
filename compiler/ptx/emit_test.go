package ptx

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/target"
)

func TestEmitErrors(t *testing.T) {
	call := `module "m"
func @f() {
b0:
  ret
}
kernel @k() args() {
b0:
  call @f !1
  ret
}
pos !1 "k/call.go" 7 2
`
	big := `module "m"
shared 0 "a" [60000]f32
shared 1 "b" [400]i32
kernel @k() args() {
b0:
  %0 = shared 0 : ptr<shared,[60000]f32>
  zero %0
  %1 = shared 1 : ptr<shared,[400]i32>
  zero %1
  ret
}
`
	for _, c := range []struct{ name, text, target, want string }{
		{"no kernel", "module \"m\"\n", "ptx:sm_90", `module "m" has no kernel`},
		{"target", call, "cpu", "cannot compile for target cpu; use one of ptx:<arch>"},
		{"call", call, "ptx:sm_90", "kernel k: k/call.go:7: call: functions must be inlined first"},
		{"call without place", strings.Replace(call, " !1", "", 1), "ptx:sm_90", "kernel k: call: functions must"},
		{"shared memory", big, "ptx:sm_90", "kernel k: needs 241600 bytes of shared memory, ptx:sm_90 has 232448 for a block; use smaller dsl.Shared arrays"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tgt, err := target.Parse(c.target)
			require.NoError(t, err)
			_, err = Emit(parse(t, c.text), tgt)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestUnknownFormIsAnError(t *testing.T) {
	v := &ir.Value{Op: ir.OpAdd, Type: ir.F16, Args: []*ir.Value{{Type: ir.F16}, {Type: ir.F16}}}
	_, err := choose(v, 90, 0, false)
	require.ErrorContains(t, err, "add on f16 has no PTX form")
}

func TestSymbol(t *testing.T) {
	for name, want := range map[string]string{
		"Scale": "Scale", "k.Scale[float32]": "k$2eScale$5bfloat32$5d", "_x1": "_x1", "1x": "$31x", "_": "$5f", "é": "$c3$a9",
	} {
		require.Equal(t, want, ir.Symbol(name))
	}
}

// TestConstantBranch has conditions that are constants, directly and through
// block arguments.
func TestConstantBranch(t *testing.T) {
	text, err := Emit(parse(t, `module "m"
kernel @k(%0: ptr<global,i32>, %1: i64, %2: i32) args(o slice i32 "[]int32", x scalar i32 "int32") {
b0:
  %3 = const true : bool
  %4 = const false : bool
  br %3, b1(%3, %2), b2(%4)
b1(%5: bool, %6: i32):
  br %4, b2(%5), b3
b2(%7: bool):
  %8 = const 1 : i32
  store %0, %8
  jump b4
b3:
  %9 = select %5, %6, %2 : i32
  %10 = and %5, %4 : bool
  %11 = select %10, %9, %2 : i32
  store %0, %11
  br %5, b4, b4
b4:
  ret
}
`), mustTarget(t, "sm_80"))
	require.NoError(t, err)
	require.NotContains(t, text, "@%p")
	assemble(t, "sm_80", text)
}

// TestPackConversions converts two neighbours by one instruction, which devices before sm_80 lack.
func TestPackConversions(t *testing.T) {
	kernel := `module "m"
kernel @k(%0: ptr<global,f16>, %1: i64, %2: f32, %3: f32) args(o slice f16 "[]float16", x scalar f32 "float32", y scalar f32 "float32") {
b0:
  %4 = convert %2 : f16
  %5 = convert %3 : f16
`
	for i := range 8 { // fewer are stored as they are
		kernel += fmt.Sprintf("  %%%[1]d = const %[2]d : i64\n  %%%[3]d = offset %%0, %%%[1]d : ptr<global,f16>\n  store %%%[3]d, %%%[4]d\n", 6+2*i, i, 7+2*i, 4+i%2)
	}
	kernel += "  ret\n}\n"
	for target, packed := range map[string]bool{"sm_75": false, "sm_80": true} {
		text, err := Options{Aligned: true}.Emit(parse(t, kernel), mustTarget(t, target))
		require.NoError(t, err)
		require.Equal(t, packed, strings.Contains(text, "cvt.rn.f16x2.f32 %r2, %r1, %r0;"), text)
		require.Equal(t, !packed, strings.Contains(text, "cvt.rn.f16.f32"), text)
		assemble(t, target, text)
	}
}

// TestDeadCode drops what nothing reads, in chains and across blocks, and keeps
// what has an effect.
func TestDeadCode(t *testing.T) {
	text, err := Emit(parse(t, `module "m"
kernel @k(%0: ptr<global,i32>, %1: i64, %2: f64) args(o slice i32 "[]int32", x scalar f64 "float64") {
b0:
  %3 = mul %2, %2 : f64
  %4 = sqrt %3 : f64
  %5 = load %0 : i32
  %6 = const 1 : i32
  %7 = atomic.add %0, %6 : i32
  barrier
  ret
}
`), mustTarget(t, "sm_80"))
	require.NoError(t, err)
	require.NotContains(t, text, "sqrt")
	require.NotContains(t, text, "ld.global")
	require.NotContains(t, text, "_param_2]")
	require.Contains(t, text, "atom.global.add.u32 %r0, [%rd1], 1;")
	require.Contains(t, text, "bar.sync 0;")
}

// TestFarOffset adds what an instruction's 32-bit offset cannot hold.
func TestFarOffset(t *testing.T) {
	text, err := Emit(parse(t, `module "m"
kernel @k(%0: ptr<global,f64>, %1: i64, %2: i64) args(o slice f64 "[]float64", i scalar i64 "int") {
b0:
  %3 = const 300000000 : i64
  %4 = offset %0, %3 : ptr<global,f64>
  %5 = add %2, %3 : i64
  %6 = offset %4, %5 : ptr<global,f64>
  %7 = const -5 : i64
  %8 = offset %6, %7 : ptr<global,f64>
  %9 = load %8 : f64
  store %4, %9
  ret
}
`), mustTarget(t, "sm_80"))
	require.NoError(t, err)
	require.Contains(t, text, ", 2400000000;")
	require.Contains(t, text, "+-40]")
	assemble(t, "sm_80", text)
}

// TestUniform marks the branches of the blocks that it is asked about.
func TestUniform(t *testing.T) {
	m := parse(t, `module "m"
kernel @k(%0: ptr<global,i32>, %1: i64, %2: i32) args(o slice i32 "[]int32", x scalar i32 "int32") {
b0:
  %3 = const 0 : i32
  %4 = lt %2, %3 : bool
  br %4, b1, b2
b1:
  %5 = load %0 : i32
  %6 = lt %5, %2 : bool
  br %6, b2, b3
b2:
  store %0, %3
  jump b3
b3:
  ret
}
`)
	entry := m.Kernel().Blocks[0]
	text, err := Options{Uniform: func(b *ir.Block) bool { return b == entry }}.Emit(m, mustTarget(t, "sm_90"))
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(text, " bra.uni "), text)
	require.Equal(t, 1, strings.Count(text, " bra $"), text)
	require.Less(t, strings.Index(text, "bra.uni"), strings.Index(text, "bra $"))
}
