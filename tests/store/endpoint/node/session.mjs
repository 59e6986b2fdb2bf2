// What an application does with @clickhouse/client, told as one line of JSON.
import { createClient } from '@clickhouse/client'

const [url, password] = process.argv.slice(2)
const client = createClient({ url, username: 'default', password, compression: { request: true, response: true } })
const told = {}

told.ping = (await client.ping()).success
await client.command({ query: 'CREATE TABLE events (id UInt64, name String) ENGINE = MergeTree ORDER BY id' })
const inserted = await client.insert({
  table: 'events',
  values: [{ id: '1', name: "o'ne\t" }, { id: '18446744073709551615', name: 'größe' }],
  format: 'JSONEachRow',
})
told.written = inserted.summary?.written_rows
const rows = await client.query({
  query: 'SELECT id, name FROM events WHERE name != {name:String} ORDER BY id',
  query_params: { name: 'a\\b\n' },
  format: 'JSONEachRow',
  clickhouse_settings: { output_format_json_quote_64bit_integers: 1 },
})
told.rows = await rows.json()
const counted = await client.query({ query: 'SELECT count() AS n FROM numbers(100000)', format: 'JSON', query_id: 'mine' })
told.query_id = counted.query_id
told.count = (await counted.json()).data[0].n
const streamed = await client.query({ query: 'SELECT number FROM numbers(70000)', format: 'JSONCompactEachRow' })
told.streamed = 0
for await (const part of streamed.stream()) told.streamed += part.length
try {
  await client.query({ query: 'SELECT * FROM nothing', format: 'JSON' })
} catch (error) {
  told.error = { code: error.code, type: error.type }
}
await client.close()
console.log(JSON.stringify(told))
