// Package kill kills processes that write what others read: entries of the cache, bundles, and
// records of what a program uses.
//
//	KILN_KILLS=1000 go test -v -run Killed ./tests/kill
//
// A writer is this test's binary once more. It says after each write that it is done, and is
// killed at a random moment, a dozen of them at a time, while readers open the same
// files. Three things are wrong at any time: to read something that nobody wrote, to miss
// something that a writer was done with, and a temporary file that no later writer removes.
package kill
