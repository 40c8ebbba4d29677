// Package cache is a content-addressed store of compiled kernels on disk.
//
// It knows nothing about kernels: an entry is a readable header, a body of
// bytes, and the key it was stored under. The model in ten lines:
//
//   - A [Key] is a SHA-256 over everything that decided the content, so an
//     entry never goes stale: other content has another key.
//   - One file an entry, at <dir>/v1/<first two digits>/<64 hex digits>.
//   - A file is a magic line, the header as one line of JSON, the body length
//     on a line, the body, and a SHA-256 over all of it.
//   - Files are written under a temporary name and renamed, so any number of
//     processes may share a directory without locks.
//   - The cache never makes a run fail. [Store.Get] answers "not here" for
//     anything it cannot prove whole, removes it, and the next Put heals it.
//   - Cached bytes are code. A directory that others can write to is not used,
//     and the error says which command mends it.
//   - The size is capped; the least recently used entries go first.
//   - How many processes have used an entry is counted beside the entries, about, and for
//     people only: see [Info].
//
// A caller that compiles on a miss looks like this:
//
//	store, err := cache.Open(cache.DefaultDir())
//	if err != nil {
//		log.Printf("warning: %v", err) // store still works: it may only miss
//	}
//	key := cache.NewKey(source, "ptx:sm_90", toolVersion)
//	entry, ok := store.Get(key)
//	if !ok {
//		entry = compile()
//		err = store.Put(key, entry) // worth one warning, never a failure
//	}
//
// # File format
//
//	kiln cache 1\n
//	{"key":"3f…","kind":"artifact","kernel":"pkg.Add[float32]","target":"ptx:sm_90",…}\n
//	1234\n
//	<1234 bytes of body>
//	<32 bytes: SHA-256 of everything above>
//
// so that "head -2 file" tells what an entry is.
//
// # Environment
//
// KILN_CACHE_DIR names the directory ([DefaultDir]); KILN_CACHE_MAX caps its
// size, such as 512MB or 4GiB (default 2GiB, 0 for no cap).
package cache
