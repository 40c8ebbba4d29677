package tokenizers

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// parallel runs f(0) to f(n-1) on as many goroutines as the program has
// threads, and returns the first error.
func parallel(n int, f func(i int) error) error {
	var next atomic.Int64
	var once sync.Once
	var first error
	var group sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				if err := f(i); err != nil {
					once.Do(func() { first = err })
					next.Store(int64(n))
				}
			}
		})
	}
	group.Wait()
	return first
}
