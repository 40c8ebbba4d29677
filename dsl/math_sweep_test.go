package dsl_test

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// sliceBits is the size of a slice: the part of the arguments that is tested
// between two writes to the journal.
const sliceBits = 26

// slice is what a sweep knows after one slice.
type slice struct {
	name, print string
	number      uint32
	worst       float64
	at          uint32
}

// TestFloat32Sweep tests all arguments of the float32 functions that have no
// such record yet, and writes the record:
//
//	go test -c -o sweep ./dsl && cd dsl && nice -n 19 ../sweep -test.run Float32Sweep -test.timeout 0 -exhaustive
//
// It takes a few minutes for each function and core. What it has done stands in
// the journal, so that a run which was stopped goes on where it was.
func TestFloat32Sweep(t *testing.T) {
	if !*exhaustive {
		t.Skip("takes minutes a function: -exhaustive asks for it")
	}
	records := readRecords(t)
	for _, u := range unaries {
		if *only != "" && !slices.Contains(strings.Split(*only, ","), u.name) {
			continue
		}
		print := u.print32()
		if slices.ContainsFunc(records, func(r record) bool {
			return r.name == u.name && r.width == 32 && r.points >= all32 && r.print == print
		}) {
			continue
		}
		t.Run(u.name, func(t *testing.T) {
			worst := sweepAll(t, u, print)
			t.Logf("%s %.4f ulp at %g (%#08x)", u.name, worst.worst, math.Float32frombits(worst.at), worst.at)
			keep(t, record{u.name, 32, all32, worst.worst, fmt.Sprintf("%#08x", worst.at), print})
			if b := bound(t, u.name).F32; worst.worst > b {
				t.Errorf("%s(%g) is off by %.3f ulp, stated are %g", u.name, math.Float32frombits(worst.at), worst.worst, b)
			}
		})
	}
}

// sweepAll tests the slices that the journal does not have.
func sweepAll(t *testing.T, u unary, print string) (worst slice) {
	f, err := os.OpenFile(*journal, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o666)
	require.NoError(t, err)
	defer f.Close()
	done := map[uint32]bool{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		s := slice{}
		_, err := fmt.Sscanf(lines.Text(), "%s %s %d %f %v", &s.name, &s.print, &s.number, &s.worst, &s.at)
		if err == nil && s.name == u.name && s.print == print {
			done[s.number] = true
			worst = worst.or(s)
		}
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	next := uint32(0)
	take := func() (n uint32, ok bool) {
		mu.Lock()
		defer mu.Unlock()
		for ; next < 1<<(32-sliceBits); next++ {
			if !done[next] {
				next++
				return next - 1, true
			}
		}
		return 0, false
	}
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for n, ok := take(); ok; n, ok = take() {
				s := slice{name: u.name, print: print, number: n}
				s.worst, s.at = sweepSlice(u, n)
				mu.Lock()
				worst = worst.or(s)
				_, err := fmt.Fprintf(f, "%s %s %d %.6f %d\n", s.name, s.print, s.number, s.worst, s.at)
				mu.Unlock()
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	return worst
}

// or returns the worse of two slices.
func (s slice) or(o slice) slice {
	if s.name == "" || o.worst > s.worst {
		return o
	}
	return s
}

func sweepSlice(u unary, n uint32) (worst float64, at uint32) {
	for i := range uint32(1 << sliceBits) {
		b := n<<sliceBits | i
		x := math.Float32frombits(b)
		if e := u.err32(x); e > worst {
			worst, at = e, b
		}
	}
	return worst, at
}
