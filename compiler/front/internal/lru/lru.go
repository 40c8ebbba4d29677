package lru

import "sync"

// Cache keeps values by key, as long as they take no more than so many bytes: what was not used
// for longest goes first.
type Cache[K comparable, V any] struct {
	Most int     // bytes
	Drop func(V) // called for what goes, nil for nothing to do

	mu    sync.Mutex
	all   map[K]*entry[V]
	bytes int // of all
	now   uint64
}

type entry[V any] struct {
	v     V
	bytes int
	used  uint64
}

// Get returns the value of a key, which is in use now.
func (k *Cache[K, V]) Get(key K) (v V, ok bool) {
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

// Put keeps a value, or takes note of what it has grown to. The latest stays whatever it takes.
func (k *Cache[K, V]) Put(key K, v V, bytes int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.all == nil {
		k.all = map[K]*entry[V]{}
	}
	if old := k.all[key]; old != nil {
		k.bytes -= old.bytes
	}
	k.now++
	k.all[key] = &entry[V]{v, bytes, k.now}
	k.bytes += bytes
	for k.bytes > k.Most && len(k.all) > 1 {
		k.remove(k.oldest())
	}
}

func (k *Cache[K, V]) oldest() (key K) {
	least := ^uint64(0)
	for c, e := range k.all {
		if e.used < least {
			key, least = c, e.used
		}
	}
	return key
}

// remove lets one value go, with the lock held.
func (k *Cache[K, V]) remove(key K) {
	e := k.all[key]
	delete(k.all, key)
	k.bytes -= e.bytes
	if k.Drop != nil {
		k.Drop(e.v)
	}
}

// Clear lets everything go.
func (k *Cache[K, V]) Clear() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for key := range k.all {
		k.remove(key)
	}
}

// Bytes returns how many bytes the values take.
func (k *Cache[K, V]) Bytes() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.bytes
}
