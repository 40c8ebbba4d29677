package cfamily_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/cfamily"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/internal/tooltest"
)

// host is the language of the tests: C, for a grid of one thread on this machine.
var host = &cfamily.Language{
	Kind:   "host",
	PlainC: true,
	Apart:  true,
	Rows:   []cfamily.Row{{Op: ir.OpThread, Text: "(i64)0"}, {Op: ir.OpBarrier, Text: "barrier()"}},
	Helpers: []cfamily.Helper{
		{Name: "FN", Text: "#define FN static"},
		{Name: "bool", Text: "#include <stdbool.h>"},
		{Name: "i16", Text: "typedef short i16;"}, {Name: "u16", Text: "typedef unsigned short u16;"},
		{Name: "i8", Text: "typedef signed char i8;"}, {Name: "u8", Text: "typedef unsigned char u8;"},
		{Name: "i32", Text: "typedef int i32;"}, {Name: "u32", Text: "typedef unsigned u32;"},
		{Name: "i64", Text: "typedef long long i64;"}, {Name: "u64", Text: "typedef unsigned long long u64;"},
		{Name: "f32", Text: "typedef float f32;"},
		{Name: "barrier", Text: "FN void barrier(void) {}"},
	},
	Head: func(target.Target) string { return "// C of this machine.\n" },
	Pointer: func(elem string, _ ir.Space, restrict bool) string {
		if restrict {
			return elem + "* restrict"
		}
		return elem + "*"
	},
	Shared: func(elem, name string) string { return fmt.Sprintf("static %s %s;", elem, name) },
	Zero:   "{p} = ({t}){0};",
	Entry: func(_ target.Target, name string, params []cfamily.Param, _ ir.Bounds) (string, []string) {
		list, body := cfamily.Declare(params)
		return fmt.Sprintf("void %s(%s)", name, strings.Join(list, ", ")), body
	},
}

var hostTarget = target.Target{Kind: "host", WarpSize: 32}

// compile compiles text, as a program if there is one to be, and returns its path.
func compile(t *testing.T, text string, args ...string) string {
	cc := tooltest.Find(t, "KILN_CC", "clang-19", "clang", "cc", "gcc")
	dir := t.TempDir()
	file, out := filepath.Join(dir, "all.c"), filepath.Join(dir, "all")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	cmd := exec.Command(cc, append([]string{"-std=c99", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter", "-Wno-unused-variable", "-Wno-missing-braces",
		"-Wno-missing-field-initializers", "-o", out, file}, args...)...)
	log, err := cmd.CombinedOutput()
	require.NoError(t, err, "%.4000s", log)
	return out
}

// output runs a program that may have come out with endless loops.
func output(t *testing.T, program string) string {
	cmd := exec.Command(program)
	var out strings.Builder
	cmd.Stdout = &out
	require.NoError(t, cmd.Start())
	timer := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	require.NoError(t, cmd.Wait(), "the program does not end: some loop is not left")
	return out.String()
}
