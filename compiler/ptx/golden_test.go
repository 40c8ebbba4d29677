package ptx

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/pass"
)

var update = flag.Bool("update", false, "write the golden files")

func parse(t *testing.T, text string) *ir.Module {
	t.Helper()
	m, err := ir.Parse(text)
	require.NoError(t, err)
	require.NoError(t, ir.Verify(m))
	return m
}

// lowered is parse of a module as the compiler hands it over.
func lowered(t *testing.T, text string) *ir.Module {
	m := parse(t, text)
	if m.Checked {
		pass.LowerLog(m, true)
	}
	return m
}

func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.ir")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		archs := []string{"sm_70", "sm_90"}
		if filepath.Base(file) == "vector_copies.ir" {
			archs = []string{"sm_80"} // the first that copies so
		}
		for _, arch := range archs {
			name := strings.TrimSuffix(file, ".ir") + "." + arch + ".ptx"
			t.Run(filepath.Base(name), func(t *testing.T) {
				src, err := os.ReadFile(file)
				require.NoError(t, err)
				vector := strings.HasPrefix(filepath.Base(file), "vector")
				o := Options{Lines: filepath.Base(file) == "scale.ir", Aligned: vector, Disjoint: vector}
				got, err := o.Emit(lowered(t, string(src)), mustTarget(t, arch))
				require.NoError(t, err)
				again, err := o.Emit(lowered(t, string(src)), mustTarget(t, arch))
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
