package fuzz

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/tests/fuzz/gen"
)

// TestShort runs the regressions and some generated kernels. KILN_FUZZ_SEED and
// KILN_FUZZ_N choose others, KILN_FUZZ_DEVICE another device.
func TestShort(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program: not in a -short run")
	}
	kernels, err := Regressions()
	require.NoError(t, err)
	require.NotEmpty(t, kernels)
	kernels = append(kernels, Generate(uint64(number(t, "KILN_FUZZ_SEED", 1)), number(t, "KILN_FUZZ_N", 60))...)
	root, err := Root()
	require.NoError(t, err)
	binary := filepath.Join(t.TempDir(), "kilnfuzz")
	err = Batch{Kernels: kernels, Root: root}.Build(t.TempDir(), binary)
	if errors.Is(err, ErrNoGo) || errors.Is(err, ErrArch) {
		if os.Getenv("KILN_REQUIRE_TOOLS") == "1" && errors.Is(err, ErrNoGo) {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	require.NoError(t, err)
	out, err := exec.Command(binary, "-passes", "one").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), strconv.Itoa(len(kernels))+" kernels on ")
	t.Logf("%s", out)
}

func number(t *testing.T, name string, otherwise int) int {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err, name)
	return n
}

func TestBuildWithoutGo(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	err := Batch{Kernels: Generate(1, 1)}.Build(t.TempDir(), "x")
	require.ErrorIs(t, err, ErrNoGo)
}

func TestParseRegression(t *testing.T) {
	const body = "\n\npackage testdata\n\nfunc K() {}\n"
	k, err := parseRegression("//fuzz: name=K blocks=1,2,1 threads=32,1,1 lens=4,0" + body)
	require.NoError(t, err)
	require.Equal(t, gen.Kernel{Name: "K", Blocks: [3]int{1, 2, 1}, Threads: [3]int{32, 1, 1}, Lens: []int{4, 0}, Source: "\nfunc K() {}\n"}, k)
	for _, bad := range []string{
		"package testdata\n",
		"//fuzz: name=K blocks=1,1,1 threads=32,1,1 lens=4\n",
		"//fuzz: name=K blocks=1,1 threads=32,1,1 lens=4" + body,
		"//fuzz: name=K blocks=1,1,1 threads=32,1,x lens=4" + body,
		"//fuzz: name=K blocks=1,1,1 threads=32,1,1" + body,
	} {
		_, err := parseRegression(bad)
		require.Error(t, err, bad)
	}
}
