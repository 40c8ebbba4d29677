package harness

import (
	"archive/zip"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/tests/fuzz/harness/internal/kernels"
)

var (
	agrees  = Kernel{Seed: 7, Name: "Agrees", Func: kernels.Agrees, Blocks: dsl.D1(2), Threads: dsl.D1(4), Lens: []int{8, 0, 0, 0, 0, 0, 0, 8}}
	differs = Kernel{Seed: 8, Name: "Differs", Func: kernels.Differs, Blocks: dsl.D1(1), Threads: dsl.D1(4), Lens: []int{4, 0}}
)

func TestRun(t *testing.T) {
	tests := []struct {
		name    string
		kernels []Kernel
		o       options
		failed  bool
		want    []string // in the output or the error
	}{
		{"agreement", []Kernel{agrees}, options{passes: "each"}, false, []string{"1 kernels on cpu", "0 failed"}},
		{"difference", []Kernel{agrees, differs}, options{}, true, []string{"FAIL seed=8 kernel=Differs", "4 of 4 elements differ, first [0]", "1 failed"}},
		{"selection", []Kernel{agrees, differs}, options{only: "7", verbose: true}, false, []string{"run  seed=7", "1 kernels"}},
		{"unknown seed", []Kernel{agrees}, options{only: "9"}, false, []string{"no kernel of seed 9"}},
		{"no seed", []Kernel{agrees}, options{only: "x"}, false, []string{"want seeds"}},
		{"range", []Kernel{differs, agrees, differs}, options{from: 1, count: 1}, false, []string{"1 kernels"}},
		{"unknown passes", []Kernel{agrees}, options{passes: "some"}, false, []string{"want none, one or each"}},
		{"unknown way", []Kernel{agrees}, options{through: "ether"}, false, []string{"-through ether: want cuda, llvm, opencl, or host:"}},
		{"unknown architecture", []Kernel{agrees}, options{through: "host:gfx1"}, false, []string{"gfx1"}},
		{"no PTX", []Kernel{agrees}, options{through: "llvm"}, false, []string{"PTX that LLVM made", "build it with kilnfuzz -llvm"}},
		{"unknown device", []Kernel{agrees}, options{device: "abacus"}, false, []string{"abacus"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			o := test.o
			if o.device == "" {
				o.device = "cpu"
			}
			if o.passes == "" {
				o.passes = "none"
			}
			if o.count == 0 {
				o.count = len(test.kernels)
			}
			var out strings.Builder
			failed, err := run(test.kernels, o, &out)
			if err != nil {
				out.WriteString(err.Error())
			}
			require.Equal(t, test.failed, failed, out.String())
			for _, w := range test.want {
				require.Contains(t, out.String(), w)
			}
		})
	}
}

func TestStopsAfterManyFailures(t *testing.T) {
	list := make([]Kernel, 100)
	for i := range list {
		list[i] = differs
	}
	var out strings.Builder
	failed, err := run(list, options{device: "cpu", passes: "none", count: len(list), workers: 1}, &out)
	require.NoError(t, err)
	require.True(t, failed)
	require.Contains(t, out.String(), "stopped")
	require.Less(t, strings.Count(out.String(), "FAIL"), 25)
}

func TestInputsDependOnSeedOnly(t *testing.T) {
	require.Equal(t, inputs(agrees), inputs(agrees))
	other := agrees
	other.Seed++
	require.NotEqual(t, inputs(agrees), inputs(other))
}

// Through LLVM and OpenCL, where the machine has them.
func TestWays(t *testing.T) {
	cross := Kernel{Seed: 9, Name: "Crosses", Func: kernels.Crosses, Blocks: dsl.D1(3), Threads: dsl.D1(64), Lens: []int{192}}
	for way, want := range map[string]string{
		"host:gfx942": "3 kernels on this machine's processor, as LLVM IR for gfx942, 1 failed",
		"host:sm_90":  "3 kernels on this machine's processor, as LLVM IR for sm_90, 1 failed",
		"opencl":      "1 kernels passed over: OpenCL C 1.2 has no sub-groups",
	} {
		t.Run(way, func(t *testing.T) {
			var out strings.Builder
			failed, err := run([]Kernel{differs, agrees, cross}, options{through: way, passes: "none", count: 3}, &out)
			tooltest.Need(t, err)
			require.True(t, failed)
			require.Contains(t, out.String(), want)
			require.Contains(t, out.String(), "FAIL seed=8 kernel=Differs: argument 1: ")
			require.Equal(t, 1, strings.Count(out.String(), "FAIL"), out.String())
		})
	}
}

// What is recorded is PTX for what would be asked for on a GPU.
func TestRecord(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ptx.zip")
	var out strings.Builder
	_, err := run([]Kernel{agrees}, options{device: "cpu", record: file, passes: "none", count: 1}, &out)
	tooltest.Need(t, err)
	images, err := zip.OpenReader(file)
	require.NoError(t, err)
	defer images.Close()
	require.Len(t, images.File, 1)
}
