package onhost

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/gokiln/kiln/internal/dl"
)

//go:embed src/gpu.c
var gpu []byte

// ErrNoCompiler says that there is no clang to build with.
var ErrNoCompiler = errors.New("clang-19 (or clang of LLVM 18 or 20) is not in PATH, and KILN_CLANG names none")

// Library is machine code of kernels.
type Library struct {
	lib   dl.Lib
	run   uintptr
	width int
}

// For is [Build] for a test, which is skipped without clang, or fails where
// KILN_REQUIRE_TOOLS=1 says that the machine has everything.
func For(tb testing.TB, text string, width int) *Library {
	tb.Helper()
	l, err := Build(tb.TempDir(), text, width)
	switch {
	case (errors.Is(err, dl.ErrNoDL) || errors.Is(err, ErrNoCompiler)) && os.Getenv("KILN_REQUIRE_TOOLS") != "1":
		tb.Skip(err)
	case err != nil:
		tb.Fatal(err)
	}
	return l
}

// Available returns nil where [Build] has what it needs, else what is missing.
func Available() error {
	_, err := compiler()
	return err
}

// Build makes a library of a text in a folder, for warps of so many threads.
func Build(dir string, text string, width int) (*Library, error) {
	clang, err := compiler()
	if err != nil {
		return nil, err
	}
	in, help, out := filepath.Join(dir, "kernels.ll"), filepath.Join(dir, "gpu.c"), filepath.Join(dir, "kernels.so")
	for name, text := range map[string][]byte{in: []byte(declarations + functions.Replace(text)), help: gpu} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			return nil, fmt.Errorf("LLVM IR for this machine: %w", err)
		}
	}
	msg, err := exec.Command(clang, "-O2", "-ffp-contract=off", "-shared", "-fPIC", "-Wl,-Bsymbolic", "-o", out, in, help, "-lm").CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", clang, err, msg[:min(len(msg), 4000)])
	}
	lib, err := dl.Open(out)
	if err != nil {
		return nil, err
	}
	run, err := lib.Sym("sim_run")
	return &Library{lib, run, width}, err
}

func compiler() (string, error) {
	for _, name := range []string{os.Getenv("KILN_CLANG"), "clang-19", "clang-20", "clang-18"} {
		if path, err := exec.LookPath(name); name != "" && err == nil {
			return path, nil
		}
	}
	return "", ErrNoCompiler
}

// functions are what gpu.c has, instead of intrinsics and of instructions of PTX that
// stand in the text as they are.
var functions = strings.NewReplacer(append(instructions(), "@llvm.amdgcn.", "@amd.", "@llvm.nvvm.", "@nv.")...)

// declarations are those of the functions for instructions.
const declarations = `declare i32 @nv.wrap(i32)
declare i32 @nv.pick(i32, i32, i1 zeroext)
declare i16 @nv.half.s32(i32)
declare i16 @nv.half.u32(i32)
declare i16 @nv.half.s64(i64)
declare i16 @nv.half.u64(i64)
declare i64 @nv.pick64(i64, i64, i1 zeroext)
declare i32 @nv.same(i32)
declare i64 @nv.same64(i64)
declare i32 @nv.less(i32, i32)
declare i32 @nv.lt.s32(i32, i32)
declare i32 @nv.lt.u32(i32, i32)
declare i32 @nv.gt.s32(i32, i32)
declare i32 @nv.gt.u32(i32, i32)
`

func instructions() (pairs []string) {
	for _, i := range [][2]string{
		{`cvt.s32.s16 $0, $1;", "=r,r"`, "wrap"}, {`selp.b32 $0, $1, $2, $3;", "=r,r,r,b"`, "pick"},
		{`cvt.rn.f16.s32 $0, $1;", "=h,r"`, "half.s32"}, {`cvt.rn.f16.u32 $0, $1;", "=h,r"`, "half.u32"},
		{`cvt.rn.f16.s64 $0, $1;", "=h,l"`, "half.s64"}, {`cvt.rn.f16.u64 $0, $1;", "=h,l"`, "half.u64"},
		{`{ .reg .pred p; .reg .b64 a, b; cvt.u64.u32 a, $1; cvt.u64.u32 b, $2; setp.lt.u64 p, a, b; selp.u32 $0, 1, 0, p; }", "=r,r,r"`, "less"},
		{`selp.b64 $0, $1, $2, $3;", "=l,l,l,b"`, "pick64"},
		{`mov.b32 $0, $1;", "=r,r"`, "same"}, {`mov.b64 $0, $1;", "=l,l"`, "same64"},
	} {
		pairs = append(pairs, `asm "`+i[0], "@nv."+i[1])
	}
	for _, compare := range []string{"lt", "gt"} {
		for t, test := range map[string]string{
			"s32": `setp.` + compare + `.s32 p, $1, $2;`,
			"u32": `.reg .b64 a, b; cvt.u64.u32 a, $1; cvt.u64.u32 b, $2; setp.` + compare + `.u64 p, a, b;`,
		} {
			pairs = append(pairs, `asm "{ .reg .pred p; `+test+` selp.b32 $0, $1, $2, p; }", "=r,r,r"`, "@nv."+compare+"."+t)
		}
	}
	return pairs
}

// Run runs a kernel for every thread of a launch. The argument block, and what that
// points to, is memory of the caller. Together says that threads of a block wait for
// each other somewhere.
func (l *Library) Run(name string, grid, block [3]int, args []byte, together bool) error {
	fn, err := l.lib.Sym(name)
	if err != nil {
		return err
	}
	memory := make([]uint64, len(args)/8+1) // of which the kernel reads words
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&memory[0])), 8*len(memory)), args)
	dims, fibers := new([6]uint32), uintptr(0)
	for i := range 3 {
		dims[i], dims[i+3] = uint32(grid[i]), uint32(block[i])
	}
	if together {
		fibers = 1
	}
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(&memory[0])
	pin.Pin(dims)
	stuck := dl.Call(l.run, []uintptr{fn, uintptr(unsafe.Pointer(&memory[0])), uintptr(unsafe.Pointer(dims)), uintptr(l.width), fibers})
	if uint32(stuck) != 0 {
		return fmt.Errorf("%s: threads wait for ever", name)
	}
	return nil
}
