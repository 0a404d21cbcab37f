class_name Matchmaking
extends Node
## Finds somebody to play with: add it to your scene, set `server`, and call `find`.

signal proposed(match_id: String, seconds: float)  ## Answer it with accept or decline.
signal host_wanted(match_id: String)  ## You host: listen, then call host_at.
signal assigned(connection: String)  ## Connect to this address, unless you host.
signal ended(reason: String)  ## cancelled, declined, silent, deadline...

const ROUTES := {
	"guest": [HTTPClient.METHOD_POST, "/v1/guests"],
	"create": [HTTPClient.METHOD_POST, "/v1/tickets"],
	"poll": [HTTPClient.METHOD_GET, "/v1/tickets/%s?wait=25&state=%s&match=%s"],
	"cancel": [HTTPClient.METHOD_DELETE, "/v1/tickets/%s"],
	"accept": [HTTPClient.METHOD_POST, "/v1/matches/%s/accept"],
	"decline": [HTTPClient.METHOD_POST, "/v1/matches/%s/decline"],
	"match": [HTTPClient.METHOD_GET, "/v1/matches/%s"],
	"assign": [HTTPClient.METHOD_PUT, "/v1/matches/%s/assignment"],
}
const TOKEN_FILE := "user://evenmatch.token"
const TRIES := 5
const PAUSE_MOST := 60.0
const PASSING := [0, 408, 429, 502, 503, 504]  # 0: there was no answer.

@export var server := "http://127.0.0.1:8080"

var player := ""
var _token := ""
var _ticket := ""
var _search := 0  # Who finds after an await that it has changed belongs to a search that is over.
var _is_asking := false  # A ticket is on its way.


func _ready() -> void:
	get_tree().auto_accept_quit = false


func _notification(what: int) -> void:
	if what == NOTIFICATION_WM_CLOSE_REQUEST:
		await cancel(1)
		get_tree().quit()


## Wait for a friend who gives the same code, or for anybody if there is none.
## A new search takes the place of the one before.
func find(code := "") -> void:
	_search += 1
	var search := _search
	while _is_asking:
		await _pause(0.1)
	if search != _search:
		return
	_is_asking = true
	var old := _ticket
	_ticket = ""
	if old:
		await _ask("cancel", [old])
	var created := await _sign_in()
	if created.has("token") and search == _search:
		var queue := "friends" if code else "anyone"
		var facts := {"connect": "open", "code": code.to_upper()}
		var body := {"queues": [queue], "players": [{"id": player}], "attributes": facts}
		created = await _ask("create", [], body)
	if created.has("id") and search != _search:
		await _ask("cancel", [created["id"]])
	_is_asking = false
	if search != _search:
		return
	_ticket = created.get("id", created.get("ticket", ""))  # The second is in a match already.
	if _ticket:
		await _follow(_ticket, search)
	else:
		ended.emit(created.get("error", "unreachable"))


func accept(match_id: String) -> void:
	await _ask("accept", [match_id], {"ticket": _ticket})


func decline(match_id: String) -> void:
	await _ask("decline", [match_id], {"ticket": _ticket})


func host_at(match_id: String, connection: String) -> void:
	await _ask("assign", [match_id], {"connection": connection})


func cancel(tries := TRIES) -> void:
	if _ticket:
		await _ask("cancel", [_ticket], {}, tries)  # _follow hears of it, or of a match.
	elif _is_asking:
		_search += 1  # find takes back what it gets.
		ended.emit("player")


func _sign_in() -> Dictionary:  ## The same device is the same player, until its token is too old.
	if FileAccess.file_exists(TOKEN_FILE):
		_token = FileAccess.get_file_as_string(TOKEN_FILE)
	var guest := await _ask("guest")
	if guest.get("error", "") == "unauthenticated":
		_token = ""
		guest = await _ask("guest")
	if guest.has("token"):  # Without one nothing is known of the old token: it stays.
		player = guest["player"]
		_token = guest["token"]
		FileAccess.open(TOKEN_FILE, FileAccess.WRITE).store_string(_token)
	return guest


func _follow(ticket: String, search: int) -> void:
	var known := ["waiting", ""]
	while _ticket and search == _search:
		var now := await _ask("poll", [ticket] + known)
		if now.get("error", "") in ["unknown_ticket", "forgotten", "unauthenticated"]:
			now = {"state": "cancelled", "reason": now["error"], "match": null}
		var news := [now.get("state", ""), now["match"] if now.get("match") else ""]
		var hosts := []
		if news[0] == "matched" and news != known:
			var made := await _ask("match", [news[1]])
			hosts = made.get("hosts", [])
			news[0] = "matched" if made.has("players") else ""  # Not read: hear of it once more.
		if search != _search:
			return
		if not news[0]:
			await _pause(2.0)
		elif news[0] in ["cancelled", "expired"]:
			_ticket = ""
			ended.emit(now["reason"])
		elif news != known:
			known = news
			if news[0] == "proposed" and now.has("answer_within"):
				proposed.emit(now["match"], now["answer_within"])
			elif hosts and hosts[0] == player:
				host_wanted.emit(now["match"])
			elif news[0] == "assigned":
				_ticket = ""
				assigned.emit(now["assignment"]["connection"])


## Ask until there is an answer, more and more slowly; {} if the server was not reached.
func _ask(route: String, names := [], body := {}, tries := TRIES) -> Dictionary:
	# The same key each time: a create whose answer was lost makes no second ticket.
	var key := Crypto.new().generate_random_bytes(16).hex_encode()
	var answer := await _send(route, names, body, key)
	for again in range(tries - 1):
		if not answer["status"] in PASSING or answer["says"].get("error", "") == "paused":
			break
		if answer["retry_after"] > PAUSE_MOST and route != "poll":
			break  # Too long to let the player wait; a ticket that waits is followed all the same.
		var pause := minf(answer["retry_after"], PAUSE_MOST)
		await _pause(pause + randf() * minf(0.25 * 2 ** again, 3.0))
		answer = await _send(route, names, body, key)
	return answer["says"]


func _send(route: String, names: Array, body: Dictionary, key: String) -> Dictionary:
	var http := HTTPRequest.new()
	http.timeout = 40.0 if route == "poll" else 10.0
	add_child(http)
	var headers := PackedStringArray(["Content-Type: application/json"])
	if _token:
		headers.append("Authorization: Bearer " + _token)
	if route == "create":
		headers.append("Idempotency-Key: " + key)
	var sent := JSON.stringify(body) if body else ""
	var answer := [0, 0, [], PackedByteArray()]
	if http.request(server + ROUTES[route][1] % names, headers, ROUTES[route][0], sent) == OK:
		answer = await http.request_completed  # result, status, headers, body
	http.queue_free()
	var retry_after := 0.0
	for header in answer[2]:
		if header.to_lower().begins_with("retry-after:"):
			retry_after = float(header.split(":")[1].strip_edges())
	var says: Variant = JSON.parse_string(answer[3].get_string_from_utf8())
	says = says if says is Dictionary else {}
	return {"status": answer[1], "retry_after": retry_after, "says": says}


func _pause(seconds: float) -> void:
	await get_tree().create_timer(seconds).timeout
