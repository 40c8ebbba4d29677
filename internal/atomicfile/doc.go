// Package atomicfile writes files as a whole: under a name of their own first, which is then
// renamed, so that whoever opens the file, at any time and from any process, finds what was
// there before or what was written, and a process that is killed changes nothing.
//
//	err := atomicfile.Write("app.kiln", 0o644, func(w io.Writer) error { … })
//
// or in steps, for what has to be looked at before it is in place:
//
//	f, err := atomicfile.Create("app.kiln", 0o644)
//	defer f.Abort() // nothing, after Commit
//	…
//	err = f.Commit()
//
// What it relies on is that a rename within a directory replaces a name in one step. What it
// does not rely on, because directories that several hosts share (NFS, SMB, FUSE) do not keep it:
//
//   - That creating a file with O_EXCL is refused where another host just did. Temporary names
//     hold the machine, the process and 64 random bits.
//   - That an error of a rename means that there was none. A reply can get lost, and the
//     repeated request finds no file: [File.Commit] looks at what is there.
//   - That clocks agree. The age of a file is asked of the file system: by the time that it
//     gave a file that was just written ([File.Time]).
//   - That an open file can be read to its end. It may be gone on the server, which is ESTALE:
//     [ReadFile] opens it again.
//
// # Files of writers that died
//
// A writer that is killed leaves its temporary file. Its name says whose it is, so the next
// writer of the same file removes it at once when the writer was a process of this machine that
// is no more, and otherwise when nothing was written to it for a day. Machine means the
// processes that see each other's numbers: a container is one of its own, and so is the
// same machine after a restart. Only on Linux it is known; elsewhere age decides.
//
// # Changes to a file
//
// Processes that read a file, change it and write it back take turns with a [Lock]. It is the
// system's (flock, LockFileEx), which ends with its process. Where a directory has no such locks,
// or keeps them within a host, [ErrNoLock] or nothing says so, and the writer has to look
// whether its change has stayed.
package atomicfile
