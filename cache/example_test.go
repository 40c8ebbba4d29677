package cache_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/gokiln/kiln/cache"
)

func Example() {
	parent, err := os.MkdirTemp("", "kiln-cache-example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(parent)

	store, err := cache.Open(filepath.Join(parent, "kiln"))
	if err != nil {
		fmt.Println("warning:", err) // the store still works: it may only miss
	}
	key := cache.NewKey("source hash", "pkg.Add[float32]", "ptx:sm_90")
	for range 2 {
		if entry, ok := store.Get(key); ok {
			fmt.Printf("loaded %s for %s: %s\n", entry.Kernel, entry.Target, entry.Body)
			continue
		}
		fmt.Println("compiled")
		err := store.Put(key, &cache.Entry{
			Header: cache.Header{Kind: cache.KindArtifact, Kernel: "pkg.Add[float32]", Target: "ptx:sm_90"},
			Body:   []byte("code"),
		})
		if err != nil {
			fmt.Println("warning:", err)
		}
	}
	// Output:
	// compiled
	// loaded pkg.Add[float32] for ptx:sm_90: code
}
