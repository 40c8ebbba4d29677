package pass

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/ir"
)

func kernelText(t testing.TB) string {
	t.Helper()
	data, err := os.ReadFile("testdata/kernel.ir.txt")
	require.NoError(t, err)
	return string(data)
}

// BenchmarkRun measures all passes over a kernel with an exponential, a
// grid-stride loop and a 4x4 tile of accumulators.
func BenchmarkRun(b *testing.B) {
	text := kernelText(b)
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		m, err := ir.Parse(text)
		require.NoError(b, err)
		b.StartTimer()
		if err := Run(m, Options{Release: true}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPass measures each pass at the point where Run has it. What comes
// before costs far more than a short pass, so the time is taken apart from that
// which decides how often to repeat.
func BenchmarkPass(b *testing.B) {
	text := kernelText(b)
	opt := Options{Release: true, WarpSize: 32, Narrow: true, Small: true}
	for i, p := range Passes {
		b.Run(p.Name, func(b *testing.B) {
			var took time.Duration
			for b.Loop() {
				m, err := ir.Parse(text)
				require.NoError(b, err)
				for _, q := range Passes[:i] {
					require.NoError(b, q.Run(m, &opt))
				}
				begin := time.Now()
				if err := p.Run(m, &opt); err != nil {
					b.Fatal(err)
				}
				took += time.Since(begin)
			}
			b.ReportMetric(float64(took.Nanoseconds())/float64(b.N), "ns/pass")
		})
	}
}

// TestAccumulatorsBecomeValues checks what unroll and sroa are for.
func TestAccumulatorsBecomeValues(t *testing.T) {
	for _, release := range []bool{true, false} {
		m := parse(t, kernelText(t))
		require.NoError(t, Run(m, Options{Release: release, Check: ir.Verify}))
		text := m.String()
		require.NotContains(t, text, "local :", "release=%t\n%s", release, text)
		require.NotContains(t, text, "call")
		want := 2 // of gate and up: out is the loop's own bound
		if release {
			want = 0
		}
		require.Equal(t, want, strings.Count(text, "bounds"), text)
	}
}
