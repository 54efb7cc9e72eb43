// Package devstack runs what the marketplace depends on as real processes on
// loopback: Postgres, Temporal with its Web UI, and an S3 gateway. `marketplace
// dev`, `marketplace demo` and the tests use it; production does not.
//
// A Stack owns one directory. An exclusive lock on it keeps a second stack out,
// and everything needed to continue after any kind of stop lives in it. Children
// never outlive the process that started them: Stop ends them in order, and on
// Linux the kernel ends them when this process is killed outright.
//
// It works on Linux and macOS.
package devstack
