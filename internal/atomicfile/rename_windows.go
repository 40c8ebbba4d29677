package atomicfile

// renameMayRetry: a file that a reader has open cannot be replaced here, and
// readers are quick.
const renameMayRetry = true
