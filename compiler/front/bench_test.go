package front

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/internal/tooltest"
)

var swigluRequest = Request{
	Pkg: "example.com/k", Func: "SwiGLU", Sig: "func(dsl.Thread, []dsl.F16, []dsl.F16, []dsl.F16)",
}

// BenchmarkWarm compiles SwiGLU again and again: what a second kernel costs.
func BenchmarkWarm(b *testing.B) {
	load := one("example.com/k", swiglu)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Build(swigluRequest, load); err != nil {
			b.Fatal(err)
		}
	}
}

// coldEnv makes the test binary compile one kernel and print the time it took.
const coldEnv = "KILN_FRONT_COLD"

func TestMain(m *testing.M) {
	if os.Getenv(coldEnv) != "" {
		start := time.Now()
		if _, err := Build(swigluRequest, one("example.com/k", swiglu)); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(time.Since(start).Nanoseconds())
		os.Exit(0)
	}
	os.Exit(tooltest.Run(m))
}

// cold runs this binary anew and returns the time of its first compilation.
func cold(tb testing.TB) time.Duration {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), coldEnv+"=1")
	out, err := cmd.CombinedOutput()
	require.NoError(tb, err, string(out))
	ns, err := strconv.Atoi(strings.TrimSpace(string(out)))
	require.NoError(tb, err)
	return time.Duration(ns)
}

// BenchmarkCold measures the first compilation in a process, which is to take no more than
// 5 ms.
func BenchmarkCold(b *testing.B) {
	var total time.Duration
	n := 0
	for b.Loop() {
		total += cold(b)
		n++
	}
	b.ReportMetric(float64(total.Microseconds())/float64(n), "µs/first")
}
