-- q0
select count(*) from hits;
-- q1
select count(*) from hits where advengineid <> 0;
-- q2
select sum(advengineid), count(*), avg(resolutionwidth) from hits;
-- q3
select avg(userid) from hits;
-- q4
select count(distinct userid) from hits;
-- q5
select count(distinct searchphrase) from hits;
-- q6
select min(eventdate), max(eventdate) from hits;
-- q7
select advengineid, count(*) from hits where advengineid <> 0 group by advengineid order by count(*) desc;
-- q8
select regionid, count(distinct userid) as u from hits group by regionid order by u desc limit 10;
-- q9
select regionid, sum(advengineid), count(*) as c, avg(resolutionwidth), count(distinct userid) from hits group by regionid order by c desc limit 10;
-- q10
select mobilephonemodel, count(distinct userid) as u from hits where mobilephonemodel <> '' group by mobilephonemodel order by u desc limit 10;
-- q11
select mobilephone, mobilephonemodel, count(distinct userid) as u from hits where mobilephonemodel <> '' group by mobilephone, mobilephonemodel order by u desc limit 10;
-- q12
select searchphrase, count(*) as c from hits where searchphrase <> '' group by searchphrase order by c desc limit 10;
-- q13
select searchphrase, count(distinct userid) as u from hits where searchphrase <> '' group by searchphrase order by u desc limit 10;
-- q14
select searchengineid, searchphrase, count(*) as c from hits where searchphrase <> '' group by searchengineid, searchphrase order by c desc limit 10;
-- q15
select userid, count(*) from hits group by userid order by count(*) desc limit 10;
-- q16
select userid, searchphrase, count(*) from hits group by userid, searchphrase order by count(*) desc limit 10;
-- q17
select userid, searchphrase, count(*) from hits group by userid, searchphrase limit 10;
-- q18
select userid, extract(minute from eventtime) as m, searchphrase, count(*) from hits group by userid, m, searchphrase order by count(*) desc limit 10;
-- q19
select userid from hits where userid = 435090932899640449;
-- q20
select count(*) from hits where url like '%google%';
-- q21
select searchphrase, min(url), count(*) as c from hits where url like '%google%' and searchphrase <> '' group by searchphrase order by c desc limit 10;
-- q22
select searchphrase, min(url), min(title), count(*) as c, count(distinct userid) from hits where title like '%Google%' and url not like '%.google.%' and searchphrase <> '' group by searchphrase order by c desc limit 10;
-- q23
select * from hits where url like '%google%' order by eventtime limit 10;
-- q24
select searchphrase from hits where searchphrase <> '' order by eventtime limit 10;
-- q25
select searchphrase from hits where searchphrase <> '' order by searchphrase limit 10;
-- q26
select searchphrase from hits where searchphrase <> '' order by eventtime, searchphrase limit 10;
-- q27
select counterid, avg(length(url)) as l, count(*) as c from hits where url <> '' group by counterid having count(*) > 100000 order by l desc limit 25;
-- q28
select regexp_replace(referer, '^https?://(?:www\.)?([^/]+)/.*$', '\1') as k, avg(length(referer)) as l, count(*) as c, min(referer) from hits where referer <> '' group by k having count(*) > 100000 order by l desc limit 25;
-- q29
select sum(resolutionwidth + 0), sum(resolutionwidth + 1), sum(resolutionwidth + 2), sum(resolutionwidth + 3), sum(resolutionwidth + 4), sum(resolutionwidth + 5), sum(resolutionwidth + 6), sum(resolutionwidth + 7), sum(resolutionwidth + 8), sum(resolutionwidth + 9), sum(resolutionwidth + 10), sum(resolutionwidth + 11), sum(resolutionwidth + 12), sum(resolutionwidth + 13), sum(resolutionwidth + 14), sum(resolutionwidth + 15), sum(resolutionwidth + 16), sum(resolutionwidth + 17), sum(resolutionwidth + 18), sum(resolutionwidth + 19), sum(resolutionwidth + 20), sum(resolutionwidth + 21), sum(resolutionwidth + 22), sum(resolutionwidth + 23), sum(resolutionwidth + 24), sum(resolutionwidth + 25), sum(resolutionwidth + 26), sum(resolutionwidth + 27), sum(resolutionwidth + 28), sum(resolutionwidth + 29), sum(resolutionwidth + 30), sum(resolutionwidth + 31), sum(resolutionwidth + 32), sum(resolutionwidth + 33), sum(resolutionwidth + 34), sum(resolutionwidth + 35), sum(resolutionwidth + 36), sum(resolutionwidth + 37), sum(resolutionwidth + 38), sum(resolutionwidth + 39), sum(resolutionwidth + 40), sum(resolutionwidth + 41), sum(resolutionwidth + 42), sum(resolutionwidth + 43), sum(resolutionwidth + 44), sum(resolutionwidth + 45), sum(resolutionwidth + 46), sum(resolutionwidth + 47), sum(resolutionwidth + 48), sum(resolutionwidth + 49), sum(resolutionwidth + 50), sum(resolutionwidth + 51), sum(resolutionwidth + 52), sum(resolutionwidth + 53), sum(resolutionwidth + 54), sum(resolutionwidth + 55), sum(resolutionwidth + 56), sum(resolutionwidth + 57), sum(resolutionwidth + 58), sum(resolutionwidth + 59), sum(resolutionwidth + 60), sum(resolutionwidth + 61), sum(resolutionwidth + 62), sum(resolutionwidth + 63), sum(resolutionwidth + 64), sum(resolutionwidth + 65), sum(resolutionwidth + 66), sum(resolutionwidth + 67), sum(resolutionwidth + 68), sum(resolutionwidth + 69), sum(resolutionwidth + 70), sum(resolutionwidth + 71), sum(resolutionwidth + 72), sum(resolutionwidth + 73), sum(resolutionwidth + 74), sum(resolutionwidth + 75), sum(resolutionwidth + 76), sum(resolutionwidth + 77), sum(resolutionwidth + 78), sum(resolutionwidth + 79), sum(resolutionwidth + 80), sum(resolutionwidth + 81), sum(resolutionwidth + 82), sum(resolutionwidth + 83), sum(resolutionwidth + 84), sum(resolutionwidth + 85), sum(resolutionwidth + 86), sum(resolutionwidth + 87), sum(resolutionwidth + 88), sum(resolutionwidth + 89) from hits;
-- q30
select searchengineid, clientip, count(*) as c, sum(isrefresh), avg(resolutionwidth) from hits where searchphrase <> '' group by searchengineid, clientip order by c desc limit 10;
-- q31
select watchid, clientip, count(*) as c, sum(isrefresh), avg(resolutionwidth) from hits where searchphrase <> '' group by watchid, clientip order by c desc limit 10;
-- q32
select watchid, clientip, count(*) as c, sum(isrefresh), avg(resolutionwidth) from hits group by watchid, clientip order by c desc limit 10;
-- q33
select url, count(*) as c from hits group by url order by c desc limit 10;
-- q34
select 1, url, count(*) as c from hits group by 1, url order by c desc limit 10;
-- q35
select clientip, clientip - 1, clientip - 2, clientip - 3, count(*) as c from hits group by clientip, clientip - 1, clientip - 2, clientip - 3 order by c desc limit 10;
-- q36
select url, count(*) as pageviews from hits where counterid = 62 and eventdate >= date '2013-07-01' and eventdate <= date '2013-07-31' and dontcounthits = 0 and isrefresh = 0 and url <> '' group by url order by pageviews desc limit 10;
-- q37
select title, count(*) as pageviews from hits where counterid = 62 and eventdate >= date '2013-07-01' and eventdate <= date '2013-07-31' and dontcounthits = 0 and isrefresh = 0 and title <> '' group by title order by pageviews desc limit 10;
-- q38
select url, count(*) as pageviews from hits where counterid = 62 and eventdate >= date '2013-07-01' and eventdate <= date '2013-07-31' and isrefresh = 0 and islink <> 0 and isdownload = 0 group by url order by pageviews desc limit 10 offset 1000;
-- q39
select traficsourceid, searchengineid, advengineid, case when searchengineid = 0 and advengineid = 0 then referer else '' end as src, url as dst, count(*) as pageviews from hits where counterid = 62 and eventdate >= date '2013-07-01' and eventdate <= date '2013-07-31' and isrefresh = 0 group by traficsourceid, searchengineid, advengineid, src, dst order by pageviews desc limit 10 offset 1000;
-- q40
select urlhash, eventdate, count(*) as pageviews from hits where counterid = 62 and eventdate >= date '2013-07-01' and eventdate <= date '2013-07-31' and isrefresh = 0 and traficsourceid in (-1, 6) and refererhash = 3594120000172545465 group by urlhash, eventdate order by pageviews desc limit 10 offset 100;
-- q41
select windowclientwidth, windowclientheight, count(*) as pageviews from hits where counterid = 62 and eventdate >= date '2013-07-01' and eventdate <= date '2013-07-31' and isrefresh = 0 and dontcounthits = 0 and urlhash = 2868770270353813622 group by windowclientwidth, windowclientheight order by pageviews desc limit 10 offset 10000;
-- q42
select date_trunc('minute', eventtime) as m, count(*) as pageviews from hits where counterid = 62 and eventdate >= date '2013-07-14' and eventdate <= date '2013-07-15' and isrefresh = 0 and dontcounthits = 0 group by date_trunc('minute', eventtime) order by m limit 10 offset 1000;
