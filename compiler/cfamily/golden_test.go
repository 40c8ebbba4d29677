package cfamily_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/cfamily"
	"github.com/gokiln/kiln/compiler/ir"
)

var update = flag.Bool("update", false, "rewrite testdata")

// TestText compares the text of the modules in testdata with what is recorded next
// to them, and compiles it.
func TestText(t *testing.T) {
	files, err := filepath.Glob("testdata/*.ir")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 9)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".ir")
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			m, err := ir.Parse(string(text))
			require.NoError(t, err)
			require.NoError(t, ir.Verify(m))
			got, err := host.Emit(m, hostTarget, cfamily.Options{})
			if name == "irreducible" {
				require.ErrorContains(t, err, "host: kernel Irreducible: control flow of Irreducible is not reducible: block 1 jumps into the loop at block 2")
				return
			}
			require.NoError(t, err)
			golden := strings.TrimSuffix(file, ".ir") + ".c"
			if *update {
				require.NoError(t, os.WriteFile(golden, []byte(got), 0o666))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), got, "if the new text is right: go test ./compiler/cfamily -update")
			compile(t, got, "-c")
		})
	}
}

// A block of arguments is a whole number of words, and names that C has are changed.
func TestSignature(t *testing.T) {
	m, err := ir.Parse("module \"m\"\n\nkernel @k(%o: ptr<global,bool>, %n: i64, %v: bool) args(o slice bool \"[]bool\", double scalar bool \"bool\") {\nb0:\n  store %o, %v\n  ret\n}\n")
	require.NoError(t, err)
	block := *host
	block.Apart = false
	text, err := block.Emit(m, hostTarget, cfamily.Options{})
	require.NoError(t, err)
	require.Contains(t, text, "struct u8_x7 { u8 v[7]; };\ntypedef struct u8_x7 u8_x7;\n")
	require.Contains(t, text, "void k(u8* o, i64 o_len, u8 double__byte, u8_x7 padding) {\n\tbool double_ = double__byte != 0;\n\t*o = double_;\n}\n")
}

func TestErrors(t *testing.T) {
	m, err := ir.Parse("module \"m\"\n\nkernel @k(%p: ptr<global,f64>, %n: i64) args(p slice f64 \"[]float64\") {\nb0:\n  fence\n  ret\n}\n")
	require.NoError(t, err)
	l := *host
	l.MissingOps = map[ir.Op]string{ir.OpFence: "there is nobody else"}
	_, err = l.Emit(m, hostTarget, cfamily.Options{})
	require.ErrorContains(t, err, "host: kernel k: operation fence is not available on host:: there is nobody else")
	l = *host
	l.MissingTypes = map[ir.Kind]string{ir.KF64: "use f32"}
	_, err = l.Emit(m, hostTarget, cfamily.Options{})
	require.ErrorContains(t, err, "ptr<global,f64> is not available on host:: use f32")
	other := hostTarget
	other.Kind = "other"
	_, err = host.Emit(m, other, cfamily.Options{})
	require.ErrorContains(t, err, "cannot compile for target other:")
	_, err = host.Emit(&ir.Module{Name: "empty"}, hostTarget, cfamily.Options{})
	require.ErrorContains(t, err, `module "empty" has no kernel`)
}
