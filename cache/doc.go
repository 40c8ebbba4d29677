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
//     processes, on any number of hosts, may share a directory without locks.
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
// # What it relies on
//
// A file that is renamed within its directory is there under the new name or it is not, and
// data that was synced is there when the name is. Nothing else: a writer that is killed at any
// point, and a machine that stops, leave what was there before or what was put, and
// maybe a temporary file. Directories that hosts share over a network do less than a disk, so
//
//   - locks and exclusive creation are not used: temporary names hold the machine, the
//     process and 64 random bits, and two writers of a key write the same;
//   - names and bytes may be seen late: both are a miss. A file that looks damaged is renamed and
//     read again before it is removed, so that a good one stays;
//   - a file that another host replaces may be gone while it is read (ESTALE): it is opened again;
//   - a reply may get lost, and the repeated rename or removal find nothing to do: what is there
//     decides. A Put whose file or directory others removed begins again;
//   - clocks differ: ages are by the clock of the file system, which dated the last
//     file that this process wrote. Times from the future are of a clock that was wrong, and are set
//     right. Who has only read takes its own clock, until a file looks an hour old.
//
// Temporary files of processes of this machine that are no more are removed at the next
// collection, those of other machines when they are an hour old. Collections are hourly, and when a
// process has written an eighth of the cap. Two hosts that collect at the same time may remove more
// than needed, and only that.
//
// # Environment
//
// KILN_CACHE_DIR names the directory ([DefaultDir]); KILN_CACHE_MAX caps its
// size, such as 512MB or 4GiB (default 2GiB, 0 for no cap).
package cache
