package llvm

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/internal/tooltest"
)

const callText = `module "m"
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

func TestEmitErrors(t *testing.T) {
	big := `module "m"
shared 0 "a" [16000]f32
shared 1 "b" [500]i32
kernel @k() args() {
b0:
  %0 = shared 0 : ptr<shared,[16000]f32>
  zero %0
  %1 = shared 1 : ptr<shared,[500]i32>
  zero %1
  ret
}
`
	for _, c := range []struct{ name, text, target, want string }{
		{"no kernel", "module \"m\"\n", "llvm:gfx942", `module "m" has no kernel`},
		{"target", callText, "cpu", "cannot compile for target cpu; use one of llvm:<arch>"},
		{"other kind", callText, "ptx:sm_90", "cannot compile for target ptx:sm_90"},
		{"call", callText, "llvm:sm_90", "kernel k: k/call.go:7: call: functions must be inlined first"},
		{"call without place", strings.Replace(callText, " !1", "", 1), "llvm:gfx942", "kernel k: call: functions must"},
		{"shared memory", big, "llvm:gfx942", "needs 66000 bytes of shared memory, llvm:gfx942 has 65536"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tgt, err := target.Parse(c.target)
			require.NoError(t, err)
			_, err = Emit(parse(t, c.text), tgt)
			require.ErrorContains(t, err, c.want)
		})
	}
}

// TestLargeShared has more shared memory than ptxas takes in arrays of known length.
func TestLargeShared(t *testing.T) {
	src, err := os.ReadFile("../ptx/testdata/large.ir")
	require.NoError(t, err)
	tgt := mustTarget(t, "sm_90")
	text, err := Emit(parse(t, string(src)), tgt)
	require.NoError(t, err)
	require.Contains(t, text, "@Large_shared = external addrspace(3) global [0 x i8], align 16\n")
	require.Contains(t, text, "getelementptr (i8, ptr addrspace(3) @Large_shared, i32 80416)")
	verify(t, text)
	ptx, err := tools(t, tgt).Build(context.Background(), text, tgt)
	require.NoError(t, err)
	assembled(t, tgt.Arch, ptx)
}

// TestJoin puts kernels with launch bounds of their own into one module.
func TestJoin(t *testing.T) {
	for arch, want := range map[string]string{"gfx942": `void @k%d\(.*"amdgpu-flat-work-group-size"="%[2]d,%[2]d"`, "sm_90": `!\{ptr @k%d, !"maxntidx", i32 %d\}`} {
		var texts []string
		for n := 1; n <= 2; n++ {
			m := parse(t, objectText)
			m.Kernel().Name, m.Launch = fmt.Sprint("k", n), ir.Bounds{Threads: 64 * n}
			text, err := Emit(m, mustTarget(t, arch))
			require.NoError(t, err)
			texts = append(texts, text)
		}
		joined := Join(texts)
		verify(t, joined)
		require.Equal(t, 1, strings.Count(joined, "target triple"), arch)
		for n := 1; n <= 2; n++ {
			require.Regexp(t, fmt.Sprintf(want, n, 64*n), joined)
		}
	}
}

func TestUnknownFormIsAnError(t *testing.T) {
	v := &ir.Value{Op: ir.OpAdd, Type: ir.F16, Args: []*ir.Value{{Type: ir.F16}, {Type: ir.F16}}}
	_, err := dialectWave64.choose(v, 0, false)
	require.ErrorContains(t, err, "add on f16 has no LLVM form")
}

func TestSymbol(t *testing.T) {
	for name, want := range map[string]string{
		"Scale": "Scale", "k.Scale[float32]": "k$2eScale$5bfloat32$5d", "_x1": "_x1", "1x": "$31x", "_": "$5f", "é": "$c3$a9",
	} {
		require.Equal(t, want, ir.Symbol(name))
	}
}

func TestConstants(t *testing.T) {
	for _, c := range []struct {
		t    *ir.Type
		bits uint64
		want string
	}{
		{ir.Bool, 1, "true"}, {ir.U8, 255, "-1"}, {ir.I8, ^uint64(0), "-1"}, {ir.U64, 1 << 63, "-9223372036854775808"},
		{ir.F32, 0x3f800000, "1.0"}, {ir.F32, 0x3dcccccd, "0x3FB99999A0000000"}, {ir.F32, 0x80000000, "-0.0"},
		{ir.F32, 0x7fa00000, "bitcast (i32 2141192192 to float)"}, {ir.F64, 0x7ff0000000000001, "bitcast (i64 u0x7FF0000000000001 to double)"},
		{ir.F64, 0xfff0000000000000, "0xFFF0000000000000"}, {ir.F16, 0xfc00, "-1024"},
	} {
		require.Equal(t, c.want, scalar(c.t, c.bits).Ident())
	}
}

// TestParameterNames gives LLVM parameters with names that it could take for its
// own or for each other.
func TestParameterNames(t *testing.T) {
	text, err := Emit(parse(t, `module "m"
kernel @k(%0: i8, %1: i64, %2: i32, %3: bool, %4: ptr<global,i64>, %5: i64) args(_ scalar i8 "int8", _ scalar i64 "int", é scalar i32 "int32", b1 scalar bool "bool", entry slice i64 "[]int64") {
b0:
  %6 = convert %0 : i64
  %7 = add %6, %1 : i64
  %8 = convert %2 : i64
  %9 = select %3, %7, %8 : i64
  store %4, %9
  ret
}
`), mustTarget(t, "gfx942"))
	require.NoError(t, err)
	require.Contains(t, text, "(i8 noundef %$5f, i64 noundef %$5f.1, i32 noundef %$c3$a9, i8 noundef %b1, ptr addrspace(1) noundef %entry, i64 noundef %entry.len)")
	assemble(t, "gfx942", text)
}

// TestToolErrors has programs that are absent, too old, or refuse their input.
func TestToolErrors(t *testing.T) {
	gfx, sm := mustTarget(t, "gfx942"), mustTarget(t, "sm_90")
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	t.Setenv("KILN_LLC", "")
	t.Setenv("KILN_LLD", "")
	_, err := FindTools(gfx)
	require.ErrorContains(t, err, "llc are not on the PATH: install LLVM")
	require.ErrorContains(t, err, "name the program by KILN_LLD")
	_, err = FindTools(target.CPU)
	require.ErrorContains(t, err, "target cpu is not reached through LLVM")
	_, err = Tools{}.Build(context.Background(), "", target.CPU)
	require.ErrorContains(t, err, "target cpu is not reached through LLVM")

	program := func(name, text string) string {
		path := filepath.Join(dir, name)
		tooltest.WriteProgram(t, path, []byte("#!/bin/sh\n"+text))
		return path
	}
	llc := program("llc", "echo Debian LLVM version 14.0.6\n")
	_, err = FindTools(sm)
	require.ErrorContains(t, err, llc+" is of LLVM 14, version 18 or later is needed")
	program("llc", "echo LLVM version 20.1.0\n")
	tools, err := FindTools(sm)
	require.NoError(t, err)
	require.Equal(t, Tools{LLC: llc}, tools)
	program("ld.lld-19", "")
	newer := program("ld.lld-20", "")
	refuses := program("refuses", "echo no such thing >&2; exit 3\n")
	t.Setenv("KILN_LLC", refuses)
	tools, err = FindTools(gfx)
	require.NoError(t, err)
	require.Equal(t, Tools{LLC: refuses, LLD: newer}, tools)
	_, err = tools.Build(context.Background(), "x", gfx)
	require.ErrorContains(t, err, "llvm: refuses: exit status 3: no such thing")
	t.Setenv("KILN_LLC", filepath.Join(dir, "absent"))
	_, err = FindTools(sm)
	require.ErrorContains(t, err, "llvm: KILN_LLC=")
}
