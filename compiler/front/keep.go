package front

import "sync"

// kept is what is kept to compile further kernels faster, by key, as long as it takes no more
// than so many bytes: what was not used for longest goes first.
type kept[K comparable, V any] struct {
	mu    sync.Mutex
	most  int
	drop  func(V) // called for what goes, nil for nothing to do
	all   map[K]*keptValue[V]
	bytes int // of all
	now   uint64
}

type keptValue[V any] struct {
	v     V
	bytes int
	used  uint64
}

func (k *kept[K, V]) get(key K) (v V, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	e := k.all[key]
	if e == nil {
		return v, false
	}
	k.now++
	e.used = k.now
	return e.v, true
}

// put keeps a value, or takes note of what it has grown to. The latest stays whatever it takes.
func (k *kept[K, V]) put(key K, v V, bytes int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.all == nil {
		k.all = map[K]*keptValue[V]{}
	}
	if old := k.all[key]; old != nil {
		k.bytes -= old.bytes
	}
	k.now++
	k.all[key] = &keptValue[V]{v, bytes, k.now}
	k.bytes += bytes
	for k.bytes > k.most && len(k.all) > 1 {
		k.remove(k.oldest())
	}
}

func (k *kept[K, V]) oldest() (key K) {
	least := ^uint64(0)
	for c, e := range k.all {
		if e.used < least {
			key, least = c, e.used
		}
	}
	return key
}

// remove lets one value go, with the lock held.
func (k *kept[K, V]) remove(key K) {
	e := k.all[key]
	delete(k.all, key)
	k.bytes -= e.bytes
	if k.drop != nil {
		k.drop(e.v)
	}
}

// clear lets everything go.
func (k *kept[K, V]) clear() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for key := range k.all {
		k.remove(key)
	}
}
