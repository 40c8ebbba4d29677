package conformance_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	goruntime "runtime"
	"runtime/debug"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tests/conformance"
	"github.com/gokiln/kiln/tests/engine"
)

// TestSoak runs small kernels in machine code from many goroutines, for as long as
// KILN_SOAK says, as in 1h30m (a second if it is not set, with a few of the kernels, which are
// compiled before that), while all that a Go program does besides goes on: the collector runs all the time, the profiler sends its signals,
// goroutines are preempted, stacks grow and shrink, code is loaded and unloaded.
func TestSoak(t *testing.T) {
	if testing.Short() && os.Getenv("KILN_SOAK") == "" {
		t.Skip("takes seconds: not in a -short run")
	}
	length := time.Second
	if text := os.Getenv("KILN_SOAK"); text != "" {
		var err error
		length, err = time.ParseDuration(text)
		require.NoError(t, err, "KILN_SOAK")
	}
	engine.Each(t, func(t *testing.T, dev *runtime.Device) {
		if dev.Name() == "cpu:interp" {
			t.Skip("needs machine code, and the interpreter has none")
		}
		soak(t, dev, length)
	})
}

func soak(t *testing.T, dev *runtime.Device, length time.Duration) {
	few := os.Getenv("KILN_SOAK") == ""
	var cases []*known
	for _, c := range conformance.Cases(dev.WarpSize()) {
		if c.Grid.X*c.Threads.X > 2048 || few && tooltest.Hash(c.Name)%128 != 0 {
			continue
		}
		k := &known{Case: c}
		if cases = append(cases, k); few {
			require.NoError(t, k.check(dev.DefaultStream()), c.Name)
		}
	}
	require.NotEmpty(t, cases)
	defer debug.SetGCPercent(debug.SetGCPercent(1))
	var profile bytes.Buffer
	if err := pprof.StartCPUProfile(&profile); err == nil {
		defer pprof.StopCPUProfile()
	}
	var runs, next atomic.Int64
	end := time.Now().Add(length)
	var wg sync.WaitGroup
	stop := make(chan struct{})
	go func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
				goruntime.GC()
				preempt()
			}
		}
	}()
	for range 2*goruntime.GOMAXPROCS(0) + 2 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(next.Add(1))))
			s, err := dev.NewStream()
			if err != nil {
				t.Error(err)
				return
			}
			for time.Now().Before(end) && !t.Failed() {
				c := cases[rng.IntN(len(cases))]
				deepen(rng.IntN(200), func() {
					if err := c.check(s); err != nil {
						t.Errorf("%s: %v", c.Name, err)
					}
				})
				runs.Add(1)
			}
		})
	}
	wg.Wait()
	close(stop)
	t.Logf("%d runs of %d kernels in %v", runs.Load(), len(cases), length)
}

// known is a case with what plain Go makes of it, which is computed once: it takes far
// longer than the device.
type known struct {
	conformance.Case
	once sync.Once
	want []any
	err  error
}

// check runs the case on a stream.
func (k *known) check(s *runtime.Stream) error {
	k.once.Do(func() { k.want, k.err = conformance.Plain(k.Case, s.Device().WarpSize()) })
	if k.err != nil {
		return k.err
	}
	got, err := conformance.Run(s, k.Case)
	if err != nil {
		return err
	}
	return k.Judge(k.want, got)
}

// deepen calls fn n frames down a stack that grows on the way.
func deepen(n int, fn func()) {
	var pad [128]byte
	if n == 0 {
		fn()
	} else {
		deepen(n-1, fn)
	}
	goruntime.KeepAlive(&pad)
}
