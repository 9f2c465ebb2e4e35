"""The same judges over HTTP.

A request's way: `cli` reads the options, `server` listens, and `app` joins middleware (`http`) and
`routes`. A route, such as `routes.verdict`, reads an Example and hands it to `service`, where all
requests have one deadline and one set of counts; `queue` gives them turns and puts rows together
for the judge. The answer goes back the same way, counted (`counters`), traced and audited.
"""
