package ptx

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/target"
)

// assembler is the vendor's assembler and the architectures it knows.
type assembler struct {
	path  string
	archs map[string]bool
}

var findAssembler = sync.OnceValue(func() *assembler {
	path := os.Getenv("KILN_PTXAS")
	if path == "" {
		path, _ = exec.LookPath("ptxas")
	}
	if path == "" {
		return nil
	}
	dir, err := os.MkdirTemp("", "ptxas")
	if err != nil {
		return nil
	}
	defer os.RemoveAll(dir)
	a := &assembler{path: path, archs: map[string]bool{}}
	for _, t := range ptxTargets() {
		text := ".version 9.0\n.target " + t.Arch + "\n.address_size 64\n.visible .entry k() { ret; }\n"
		a.archs[t.Arch] = a.run(dir, t.Arch, text) == ""
		if !a.archs[t.Arch] { // an older assembler does not know the version
			text = strings.Replace(text, "9.0", version(t), 1)
			a.archs[t.Arch] = a.run(dir, t.Arch, text) == ""
		}
	}
	return a
})

func version(t target.Target) string {
	return string(rune('0'+t.Version/10)) + "." + string(rune('0'+t.Version%10))
}

// run assembles text and returns what the assembler complains about.
func (a *assembler) run(dir, arch, text string) string {
	in := filepath.Join(dir, "k.ptx")
	if err := os.WriteFile(in, []byte(text), 0o600); err != nil {
		return err.Error()
	}
	out, err := exec.Command(a.path, "-arch="+arch, "-o", filepath.Join(dir, "k.cubin"), in).CombinedOutput()
	if err != nil {
		return string(out) + err.Error()
	}
	return ""
}

// assemble fails the test if the assembler refuses text. It skips if there is
// no assembler, or one that does not know the architecture.
func assemble(t *testing.T, arch, text string) {
	t.Helper()
	a := findAssembler()
	required := os.Getenv("KILN_REQUIRE_TOOLS") == "1"
	if a == nil {
		require.False(t, required, "KILN_REQUIRE_TOOLS=1, but neither KILN_PTXAS nor PATH leads to ptxas")
		t.Skip("ptxas not found: set KILN_PTXAS or put it on PATH")
	}
	if !a.archs[arch] {
		// CUDA 13 dropped the oldest architectures; that is no fault of the text.
		t.Skipf("this ptxas does not know %s", arch)
	}
	if msg := a.run(t.TempDir(), arch, text); msg != "" {
		t.Fatalf("ptxas -arch=%s: %s\n%s", arch, msg, numbered(text))
	}
}

func numbered(text string) string {
	var b strings.Builder
	for i, line := range strings.Split(text, "\n") {
		b.WriteString(strings.Join([]string{pad(i + 1), line, "\n"}, " "))
	}
	return b.String()
}

func pad(n int) string {
	s := "     "
	for i := 4; n > 0; i-- {
		s = s[:i] + string(rune('0'+n%10)) + s[i+1:]
		n /= 10
	}
	return s
}

func ptxTargets() []target.Target {
	var out []target.Target
	for _, t := range target.All() {
		if t.Kind == target.PTX {
			out = append(out, t)
		}
	}
	return out
}

func mustTarget(t *testing.T, arch string) target.Target {
	t.Helper()
	got, err := target.Parse("ptx:" + arch)
	require.NoError(t, err)
	return got
}
