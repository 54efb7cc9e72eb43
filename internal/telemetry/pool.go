package telemetry

import (
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
)

// ObservePool adds the numbers of a Postgres connection pool.
func (m *Metrics) ObservePool(pool *pgxpool.Pool) {
	m.registry.MustRegister(poolCollector{pool})
}

type poolCollector struct{ pool *pgxpool.Pool }

var (
	poolConns = prometheus.NewDesc("marketplace_database_connections",
		"Connections to Postgres by what they do.", []string{"state"}, nil)
	poolMax = prometheus.NewDesc("marketplace_database_connections_max",
		"Most connections this process may hold.", nil, nil)
	poolAcquired = prometheus.NewDesc("marketplace_database_acquires_total",
		"Times a connection was taken from the pool.", nil, nil)
	poolWaited = prometheus.NewDesc("marketplace_database_acquire_waits_total",
		"Times a connection had to be waited for because all were busy.", nil, nil)
	poolWaitTime = prometheus.NewDesc("marketplace_database_acquire_seconds_total",
		"Time spent waiting for connections.", nil, nil)
)

func (c poolCollector) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, ch) }

func (c poolCollector) Collect(ch chan<- prometheus.Metric) {
	s := c.pool.Stat()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	counter := func(d *prometheus.Desc, v float64) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v)
	}
	gauge(poolConns, float64(s.AcquiredConns()), "in_use")
	gauge(poolConns, float64(s.IdleConns()), "idle")
	gauge(poolConns, float64(s.ConstructingConns()), "opening")
	gauge(poolMax, float64(s.MaxConns()))
	counter(poolAcquired, float64(s.AcquireCount()))
	counter(poolWaited, float64(s.EmptyAcquireCount()))
	counter(poolWaitTime, s.AcquireDuration().Seconds())
}
