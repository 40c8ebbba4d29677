package llvm

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/ir"
)

var update = flag.Bool("update", false, "write the golden files")

func parse(t testing.TB, text string) *ir.Module {
	t.Helper()
	m, err := ir.Parse(text)
	require.NoError(t, err)
	require.NoError(t, ir.Verify(m))
	return m
}

// TestGolden compiles the programs in testdata for one architecture of each
// dialect.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.ir")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		for _, arch := range []string{"gfx942", "gfx1100", "sm_90"} {
			name := strings.TrimSuffix(file, ".ir") + "." + arch + ".ll"
			t.Run(filepath.Base(name), func(t *testing.T) {
				src, err := os.ReadFile(file)
				require.NoError(t, err)
				vector := filepath.Base(file) == "vector.ir"
				o := Options{Lines: filepath.Base(file) == "scale.ir", Aligned: vector, Disjoint: vector}
				got, err := o.Emit(parse(t, string(src)), mustTarget(t, arch))
				require.NoError(t, err)
				again, err := o.Emit(parse(t, string(src)), mustTarget(t, arch))
				require.NoError(t, err)
				require.Equal(t, got, again, "the text must depend on the module alone")
				if *update {
					require.NoError(t, os.WriteFile(name, []byte(got), 0o644))
				}
				want, err := os.ReadFile(name)
				require.NoError(t, err, "run go test -update")
				require.Equal(t, string(want), got)
				assemble(t, arch, got)
			})
		}
	}
}
